/** What waits for a person in a chat and in the session's other chats (pure). */
import type {ChatInputRequest, ChatState, SessionState, ToolCallState} from '../ahp/index.ts';
import {textOf, titleOf} from './approval.ts';

/** Something that waits, wherever it is. */
export type Pending = {
  readonly chat: string;
  readonly turn: string;
  readonly index: number;
  readonly id: string;
  /** The other chat's title; undefined for this one. */
  readonly place?: string | undefined;
} & ({readonly kind: 'call'; readonly call: ToolCallState} | {readonly kind: 'request'; readonly request: ChatInputRequest});

const WAITING: ReadonlySet<string> = new Set(['pending-confirmation', 'pending-result-confirmation', 'auth-required']);

/** What waits in a chat, the first asked first. */
export function pendingIn(chat: string, state: ChatState | undefined): readonly Pending[] {
  const turn = state?.activeTurn;
  if (!turn) return [];
  return turn.responseParts.flatMap((part, index): Pending[] => {
    const place = {chat, turn: turn.id, index};
    if (part.kind === 'toolCall' && WAITING.has(part.toolCall.status)) return [{...place, id: part.toolCall.toolCallId, kind: 'call', call: part.toolCall}];
    if (part.kind === 'inputRequest' && part.response === undefined) return [{...place, id: part.request.id, kind: 'request', request: part.request}];
    return [];
  });
}

/** What waits in the other chats of a session, such as those of workers. */
export function pendingElsewhere(chat: string, session: SessionState | undefined): readonly Pending[] {
  return (session?.inputNeeded ?? []).flatMap((entry): Pending[] => {
    if (entry.chat === chat) return [];
    const place = session?.chats.find(each => each.resource === entry.chat)?.title ?? '';
    if (entry.kind === 'chatInput') return [{chat: entry.chat, turn: '', index: 0, id: entry.request.id, place, kind: 'request', request: entry.request}];
    if (entry.kind !== 'toolConfirmation' && entry.kind !== 'toolAuthentication') return [];
    return [{chat: entry.chat, turn: entry.turnId, index: 0, id: entry.toolCall.toolCallId, place, kind: 'call', call: entry.toolCall}];
  });
}

/** What waits, in a line; `asks` is what a request without words is called. */
export function pendingTitle(pending: Pending, asks: string): string {
  const whole = wholeTitle(pending) || asks;
  return whole.trim().split('\n', 1)[0]!.slice(0, MOST);
}

/** Characters of a line. */
const MOST = 300;

function wholeTitle(pending: Pending): string {
  if (pending.kind === 'request') return pending.request.message || pending.request.questions?.[0]?.message || '';
  const {call} = pending;
  if (call.status === 'pending-confirmation') return textOf(call.invocationMessage) || textOf(titleOf(call));
  return textOf('pastTenseMessage' in call ? call.pastTenseMessage : call.invocationMessage) || call.displayName;
}
