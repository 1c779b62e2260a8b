/** What was answered from this window, and what was answered elsewhere: each by chat and id. */
import {type ReadonlySignal, type Signal, signal} from '@preact/signals';
import type {StateAction} from '../ahp/index.ts';
import {focusComposer} from '../composer/intake.ts';
import type {Act, Store} from '../store/index.ts';
import type {words} from '../words/index.ts';

export type Doing = keyof typeof words.cards.doing;

/** An answer given here, and how far it got. */
export interface Own {
  readonly act: Act;
  readonly doing: Doing;
}

/** How a card's question was settled, as far as this window knows. */
export interface Settled {
  readonly own?: Own | undefined;
  readonly elsewhere?: boolean | undefined;
}

/** Answers that are remembered; older ones are of turns long gone. */
const MOST = 500;

const all = new Map<string, Signal<Settled>>();

function entry(chat: string, id: string): Signal<Settled> {
  const key = `${chat}\n${id}`;
  let found = all.get(key);
  if (!found) {
    all.set(key, (found = signal<Settled>({})));
    const oldest = all.size > MOST ? all.keys().next().value : undefined;
    if (oldest !== undefined) all.delete(oldest);
  }
  return found;
}

/** What this window knows about the answer to a call or a request. */
export const settledOf = (chat: string, id: string): ReadonlySignal<Settled> => entry(chat, id);

/** Answer from this window. */
export function answerHere(store: Store, chat: string, id: string, action: StateAction, doing: Doing): void {
  const hadFocus = document.activeElement?.closest('[data-waiting]') && !document.activeElement.closest('dialog');
  noteOwn(chat, id, store.act(chat, action, id), doing);
  // The card goes, and focus with it: the next thing to do is to write. A touch keyboard is not opened for that.
  if (hadFocus && !globalThis.matchMedia?.('(pointer: coarse)').matches) focusComposer(chat);
}

/** Note an answer that was given in this window, at another control than the card's. */
export function noteOwn(chat: string, id: string, act: Act, doing: Doing): void {
  entry(chat, id).value = {own: {act, doing}};
}

/** Whether an answer given here is still under way, or was taken. */
export function isOwn({own}: Settled): boolean {
  const phase = own?.act.phase.peek();
  return phase === 'pending' || phase === 'done' || phase === 'uncertain';
}

/** Mark what was answered without this window's doing. */
export function noteAnswered(chat: string, id: string): void {
  const known = entry(chat, id);
  if (!isOwn(known.peek())) known.value = {elsewhere: true};
}

/** Forget the answer to what is asked anew: it was to the former question. One that was taken back keeps its reason. */
export function noteAsked(chat: string, id: string): void {
  const known = entry(chat, id);
  const {elsewhere, own} = known.peek();
  if (elsewhere || own?.act.phase.peek() === 'done') known.value = {};
}
