/** The order of queued messages, after one was moved (pure). */
import type {PendingMessage, StateAction} from '../ahp/index.ts';

/** The ids with one moved by some places; the same order where it cannot go further. */
export function moved(ids: readonly string[], id: string, by: number): readonly string[] {
  const from = ids.indexOf(id);
  if (from < 0) return ids;
  return placed(ids, id, Math.max(0, Math.min(ids.length - 1, from + by)));
}

/** The ids with one put at a place. */
export function placed(ids: readonly string[], id: string, to: number): readonly string[] {
  if (!ids.includes(id) || ids.indexOf(id) === to) return ids;
  const others = ids.filter(other => other !== id);
  return [...others.slice(0, to), id, ...others.slice(to)];
}

export const reordered = (order: readonly string[]): StateAction => ({type: 'chat/queuedMessagesReordered', order});

export const removed = (kind: 'queued' | 'steering', id: string): StateAction => ({type: 'chat/pendingMessageRemoved', kind, id});

/** Change what a message says that still waits; it keeps its place. Said again as it is, it makes a held queue go on. */
export const rewritten = (kind: 'queued' | 'steering', pending: PendingMessage, text: string): StateAction => ({
  type: 'chat/pendingMessageSet',
  kind,
  id: pending.id,
  message: {...pending.message, text},
});

/** Make a queued message steer the running turn instead: set it there first, so that it cannot be lost between. */
export function steeredNow(pending: PendingMessage, id: string): readonly StateAction[] {
  return [
    {type: 'chat/pendingMessageSet', kind: 'steering', id, message: pending.message},
    removed('queued', pending.id),
  ];
}
