/** Which waiting thing is open in a sheet. */
import {type ReadonlySignal, signal} from '@preact/signals';
import {width} from '../ui/width.ts';

export interface OpenCard {
  readonly chat: string;
  /** Undefined for whatever waits there first, as soon as it is known. */
  readonly id: string | undefined;
}

/** Milliseconds for which what one comes to review may take to be there. */
const PATIENCE = 5000;

const open = signal<OpenCard | undefined>(undefined);

/** The waiting thing that is open, if any. */
export const openedCard: ReadonlySignal<OpenCard | undefined> = open;

/** Open a waiting thing; its chat's composer shows it. */
export function openCard(chat: string, id: string): void {
  open.value = {chat, id};
}

/** Open what waits first in a chat that is being gone to; where there is room, it is in the transcript. */
export function openFirst(chat: string): void {
  if (width.peek() !== 'phone') return;
  const wanted = {chat, id: undefined};
  open.value = wanted;
  // It was answered meanwhile: what is asked later must not open by itself.
  setTimeout(() => {
    if (open.peek() === wanted) closeCard();
  }, PATIENCE);
}

export function closeCard(): void {
  open.value = undefined;
}
