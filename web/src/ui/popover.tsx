/** Popovers and menus beside the control that opens them. */
import {autoUpdate, computePosition, flip, offset, type Placement, shift, size} from '@floating-ui/dom';
import type {IconNode} from 'lucide';
import type {ComponentChildren} from 'preact';
import {useEffect, useLayoutEffect, useRef} from 'preact/hooks';
import {Icon} from './icon.tsx';

export interface PopoverProps {
  /** The control that it belongs to. */
  readonly anchor: {readonly current: HTMLElement | null};
  readonly onClose: () => void;
  readonly children: ComponentChildren;
  readonly label: string;
  readonly role?: 'dialog' | 'menu' | 'listbox' | undefined;
  readonly placement?: Placement | undefined;
  readonly class?: string | undefined;
  readonly id?: string | undefined;
  /** Whether focus stays where it is, as with completions of what is being typed. */
  readonly keepFocus?: boolean | undefined;
}

/** A box over the page; Escape and a press elsewhere close it, and focus goes back. */
export function Popover({anchor, onClose, children, label, role = 'dialog', placement = 'bottom-start', class: className, id, keepFocus}: PopoverProps) {
  const box = useRef<HTMLDivElement>(null);
  const close = useRef(onClose);
  close.current = onClose;
  useLayoutEffect(() => {
    const [from, over] = [anchor.current, box.current];
    if (!from || !over) return undefined;
    // In the top layer, so that no pane or dialog cuts it off.
    over.showPopover?.();
    const place = (): void => {
      const fit = size({padding: 8, apply: ({availableHeight}) => void (over.style.maxHeight = `${Math.max(120, availableHeight)}px`)});
      void computePosition(from, over, {strategy: 'fixed', placement, middleware: [offset(4), flip(), shift({padding: 8}), fit]}).then(({x, y}) => {
        over.style.left = `${x}px`;
        over.style.top = `${y}px`;
      });
    };
    return autoUpdate(from, over, place);
  }, [anchor, placement]);
  useEffect(() => {
    const over = box.current;
    if (!over) return undefined;
    const before = document.activeElement as HTMLElement | null;
    if (!keepFocus) (over.querySelector<HTMLElement>('[autofocus], [role^="menuitem"], [role="option"], input, button') ?? over).focus({preventScroll: true});
    const press = (event: PointerEvent): void => {
      const target = event.target as Node;
      if (!over.contains(target) && !anchor.current?.contains(target)) close.current();
    };
    const key = (event: KeyboardEvent): void => {
      if (event.key !== 'Escape') return;
      event.preventDefault();
      event.stopPropagation();
      close.current();
    };
    document.addEventListener('pointerdown', press, true);
    document.addEventListener('keydown', key, true);
    return () => {
      document.removeEventListener('pointerdown', press, true);
      document.removeEventListener('keydown', key, true);
      if (!keepFocus && (over.contains(document.activeElement) || document.activeElement === document.body)) before?.focus({preventScroll: true});
    };
  }, []);
  return (
    <div ref={box} id={id} class={className ? `ui-popover ${className}` : 'ui-popover'} popover="manual" role={role} aria-label={label} tabIndex={-1}>
      {children}
    </div>
  );
}

export interface MenuItem {
  readonly id: string;
  readonly words: string;
  /** What choosing it means, said quietly below. */
  readonly hint?: string | undefined;
  readonly icon?: IconNode | undefined;
  readonly keys?: string | undefined;
  readonly isDanger?: boolean | undefined;
  readonly checked?: boolean | undefined;
  readonly whyNot?: string | undefined;
  readonly run: () => void;
}

export type MenuProps = Omit<PopoverProps, 'children' | 'role'> & {readonly items: readonly MenuItem[]};

const STEPS: Readonly<Record<string, (index: number, count: number) => number>> = {
  ArrowDown: (index, count) => (index + 1) % count,
  ArrowUp: (index, count) => (index - 1 + count) % count,
  Home: () => 0,
  End: (_, count) => count - 1,
};

/** A menu: arrows move, Enter chooses, Escape closes. */
export function Menu({items, ...rest}: MenuProps) {
  const move = (event: KeyboardEvent): void => {
    const step = STEPS[event.key];
    if (!step) return;
    event.preventDefault();
    const buttons = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>('[role^="menuitem"]')];
    buttons[step(buttons.indexOf(document.activeElement as HTMLElement), buttons.length)]?.focus();
  };
  const choose = (item: MenuItem): void => {
    if (item.whyNot !== undefined) return;
    rest.onClose();
    item.run();
  };
  return (
    <Popover {...rest} role="menu">
      <div class="ui-menu" role="presentation" onKeyDown={move}>
        {items.map(item => (
          <button
            key={item.id}
            type="button"
            role={item.checked === undefined ? 'menuitem' : 'menuitemradio'}
            aria-checked={item.checked}
            aria-disabled={item.whyNot !== undefined || undefined}
            title={item.whyNot}
            class={item.isDanger ? 'ui-menu-item danger' : 'ui-menu-item'}
            onClick={() => choose(item)}
          >
            {item.icon && <Icon of={item.icon} />}
            <span class="ui-menu-words">
              {item.words}
              {item.hint && <span class="ui-menu-hint">{item.hint}</span>}
            </span>
            {item.keys && <kbd>{item.keys}</kbd>}
          </button>
        ))}
      </div>
    </Popover>
  );
}
