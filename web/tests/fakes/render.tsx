/** Showing a component under test within a store. */
import {type ComponentChild, render} from 'preact';
import {act} from 'preact/test-utils';
import {StoreContext} from '../../src/store/index.ts';
import {type FakeStore, fakeStore} from './store.ts';

export interface Shown {
  readonly box: HTMLElement;
  readonly store: FakeStore;
  /** Show something else at the same place. */
  again(child: ComponentChild): void;
  /** Do something, and let the page follow. */
  doing(run: () => void): void;
  /** The one element that a selector names; fails if there is none. */
  find<E extends HTMLElement = HTMLElement>(selector: string): E;
  /** The button with this text or accessible name. */
  button(name: string): HTMLButtonElement;
  remove(): void;
}

/** Show a component with a store around it. */
export function show(child: ComponentChild, store: FakeStore = fakeStore()): Shown {
  const box = document.createElement('div');
  document.body.append(box);
  const again = (next: ComponentChild): void => void act(() => render(<StoreContext.Provider value={store}>{next}</StoreContext.Provider>, box));
  again(child);
  const nameOf = (button: HTMLElement): string => button.getAttribute('aria-label') ?? button.textContent?.trim() ?? '';
  return {
    box,
    store,
    again,
    doing: run => void act(run),
    find<E extends HTMLElement>(selector: string): E {
      const found = box.querySelector<E>(selector);
      if (!found) throw new Error(`there is no ${selector} in ${box.textContent}`);
      return found;
    },
    button(name) {
      const found = [...box.querySelectorAll('button')].find(button => nameOf(button) === name);
      if (!found) throw new Error(`there is no button "${name}" in ${box.textContent}`);
      return found;
    },
    remove() {
      render(null, box);
      box.remove();
    },
  };
}
