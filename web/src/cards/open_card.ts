/** Which waiting thing is open in a sheet. */
import {type ReadonlySignal, signal} from '@preact/signals';

export interface OpenCard {
  readonly chat: string;
  readonly id: string;
}

const open = signal<OpenCard | undefined>(undefined);

/** The waiting thing that is open, if any. */
export const openedCard: ReadonlySignal<OpenCard | undefined> = open;

/** Open a waiting thing; its chat's composer shows it. */
export function openCard(chat: string, id: string): void {
  open.value = {chat, id};
}

export function closeCard(): void {
  open.value = undefined;
}
