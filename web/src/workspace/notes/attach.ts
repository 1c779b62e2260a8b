/** What other rooms hand to a chat's composer, to go with the next message. */
import {type ReadonlySignal, effect, signal, untracked} from '@preact/signals';
import type {MessageAttachment} from '../../ahp/index.ts';

const waiting = signal<ReadonlyMap<string, readonly MessageAttachment[]>>(new Map());

/** What waits to be taken by the composers, by the URI of the chat. */
export const attachedToMessage: ReadonlySignal<ReadonlyMap<string, readonly MessageAttachment[]>> = waiting;

/** Put something into the composer of a chat; the same thing twice is there once. */
export function attachToMessage(chat: string, attachment: MessageAttachment): void {
  const before = waiting.value.get(chat) ?? [];
  const text = JSON.stringify(attachment);
  if (before.some(other => JSON.stringify(other) === text)) return;
  waiting.value = new Map(waiting.value).set(chat, [...before, attachment]);
}

/** What was handed over for a chat; it is the composer's from now on. */
export function takeAttached(chat: string): readonly MessageAttachment[] {
  const taken = waiting.value.get(chat) ?? [];
  if (taken.length) {
    const rest = new Map(waiting.value);
    rest.delete(chat);
    waiting.value = rest;
  }
  return taken;
}

/** Take what is handed over for a chat, now and later; gives what ends that. */
export function takingAttached(chat: string, take: (attachment: MessageAttachment) => void): () => void {
  return effect(() => {
    if (waiting.value.has(chat)) untracked(() => takeAttached(chat).forEach(take));
  });
}
