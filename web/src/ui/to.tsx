/** Links from place to place within the page. */
import type {ComponentChildren} from 'preact';
import {go, href, type Route} from '../route.ts';

export interface ToProps {
  readonly route: Route;
  readonly children?: ComponentChildren;
  readonly class?: string | undefined;
  readonly label?: string | undefined;
  readonly current?: boolean | undefined;
  /** Runs after the page has gone there. */
  readonly onGo?: (() => void) | undefined;
}

/** A link to a place; with a modifier key the browser opens it as it does any link. */
export function To({route, children, class: className, label, current, onGo}: ToProps) {
  const click = (event: MouseEvent): void => {
    if (event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(route);
    onGo?.();
  };
  return (
    <a class={className} href={href(route)} aria-label={label} aria-current={current ? 'page' : undefined} onClick={click}>
      {children}
    </a>
  );
}
