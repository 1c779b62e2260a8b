/** Going from one place of the page to another. */
import {type ReadonlySignal, type Signal, signal} from '@preact/signals';
import {type Route, href, parse} from './address.ts';

export {PANELS, type Panel, type Route, type SessionRoute, href, parse} from './address.ts';

/** Where a page is, and the entries of its history; `pushLayer` puts entries there that only Back sees. */
export class Places {
  readonly route: ReadonlySignal<Route>;
  private readonly window: Pick<Window, 'history' | 'location' | 'addEventListener'>;
  private readonly here: Signal<Route>;
  private layers: {readonly id: number; close(): void}[] = [];
  private lastLayer = 0;
  // Steps back that the page itself takes, to drop the entry of a layer that is closed already; and what waits for them.
  private ownSteps = 0;
  private afterSteps: (() => void)[] = [];

  constructor(window: Pick<Window, 'history' | 'location' | 'addEventListener'>) {
    this.window = window;
    this.here = signal(parse(new URL(window.location.href)));
    this.route = this.here;
    // A page that was reloaded under a sheet has none now.
    if (layerIn(window.history.state)) window.history.replaceState(null, '', window.location.href);
    window.addEventListener('popstate', () => this.popped());
  }

  /** Go to a place; replaced places are not come back to. */
  go(to: Route, o: {replace?: boolean} = {}): void {
    this.here.value = to;
    this.afterOwnSteps(() => {
      const {history} = this.window;
      // The entry of a layer stands for the same place as the one below it: it becomes the new place's.
      const address = href(to);
      // Going to where one is leaves nothing to come back to.
      const isHere = new URL(address, this.window.location.href).href === this.window.location.href;
      if (o.replace || isHere || layerIn(history.state)) history.replaceState(null, '', address);
      else history.pushState(null, '', address);
    });
  }

  /** Put something over the page that Back closes first; gives what takes it away. */
  pushLayer(close: () => void): () => void {
    const id = (this.lastLayer += 1);
    this.layers.push({id, close});
    this.afterOwnSteps(() => this.window.history.pushState({layer: id}, '', this.window.location.href));
    return () => this.removeLayer(id);
  }

  private removeLayer(id: number): void {
    const {length} = this.layers;
    this.layers = this.layers.filter(layer => layer.id !== id);
    if (this.layers.length === length) return;
    this.afterOwnSteps(() => {
      // Somebody went elsewhere from it, and its entry is that place's now.
      if (layerIn(this.window.history.state) !== id) return;
      this.stepBack();
    });
  }

  private stepBack(): void {
    this.ownSteps += 1;
    this.window.history.back();
  }

  // Going back takes a while, and until it is done the history still stands on the entry that goes.
  private afterOwnSteps(run: () => void): void {
    if (this.ownSteps > 0) this.afterSteps.push(run);
    else run();
  }

  private popped(): void {
    if (this.ownSteps > 0) {
      this.ownSteps -= 1;
      const below = layerIn(this.window.history.state);
      // A layer that was taken away while another lay over it: its entry could not be dropped before.
      if (this.ownSteps === 0 && below !== undefined && !this.layers.some(layer => layer.id === below)) this.stepBack();
      while (this.ownSteps === 0 && this.afterSteps.length) this.afterSteps.shift()?.();
      return;
    }
    const at = layerIn(this.window.history.state) ?? 0;
    const above = this.layers.filter(layer => layer.id > at);
    this.layers = this.layers.filter(layer => layer.id <= at);
    for (const layer of above.toReversed()) layer.close();
    // A layer that was left without closing it.
    if (at && !this.layers.some(layer => layer.id === at)) this.window.history.back();
    const {href: address} = this.window.location;
    const url = new URL(address);
    if (href(this.here.peek()) !== url.pathname + url.search) this.here.value = parse(url);
  }
}

const layerIn = (state: unknown): number | undefined => (state as {layer?: number} | null)?.layer;

const places = new Places(window);

/** Where the page is. */
export const route: ReadonlySignal<Route> = places.route;

/** Go to a place; replaced places are not come back to. */
export const go = (to: Route, o: {replace?: boolean} = {}): void => places.go(to, o);

/** Put something over the page that Back closes first; gives what takes it away. */
export const pushLayer = (close: () => void): (() => void) => places.pushLayer(close);
