/** Reordering a list by dragging, with the mouse or a finger: the row goes where the pointer leaves it. */
import {useRef} from 'preact/hooks';

export interface DragOrder {
  /** For the list, whose children have `data-id`. */
  list(element: HTMLElement | null): void;
  /** For the press on a row's handle. */
  grip(event: PointerEvent): void;
}

/** The place among some rows at which a pointer is, by the middles of the rows. */
export function placeAt(y: number, middles: readonly number[]): number {
  const below = middles.findIndex(middle => y < middle);
  return below < 0 ? middles.length : below;
}

export function useDragOrder(drop: (id: string, to: number) => void): DragOrder {
  const list = useRef<HTMLElement | null>(null);
  const latest = useRef(drop);
  latest.current = drop;
  const grip = (event: PointerEvent): void => {
    const row = (event.currentTarget as Element).closest<HTMLElement>('[data-id]');
    const id = row?.dataset['id'];
    if (!row || id === undefined || event.button !== 0) return;
    event.preventDefault();
    const handle = event.currentTarget as HTMLElement;
    handle.setPointerCapture(event.pointerId);
    const from = event.clientY;
    row.dataset['dragged'] = 'true';
    const move = (now: PointerEvent): void => void (row.style.transform = `translateY(${now.clientY - from}px)`);
    const end = (now: PointerEvent): void => {
      handle.removeEventListener('pointermove', move);
      handle.removeEventListener('pointerup', end);
      handle.removeEventListener('pointercancel', end);
      row.style.transform = '';
      delete row.dataset['dragged'];
      if (now.type === 'pointerup') latest.current(id, placeAt(now.clientY, middles(list.current, row)));
    };
    handle.addEventListener('pointermove', move);
    handle.addEventListener('pointerup', end);
    handle.addEventListener('pointercancel', end);
  };
  return {list: element => void (list.current = element), grip};
}

function middles(list: HTMLElement | null, without: HTMLElement): number[] {
  const others = [...(list?.children ?? [])].filter(row => row !== without);
  return others.map(row => {
    const box = row.getBoundingClientRect();
    return box.top + box.height / 2;
  });
}
