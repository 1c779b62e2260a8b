/** What a composer sends: a turn, a queued message or a steering one (pure but for ids and the clock). */
import type {ChatState, Message, MessageAttachment, ModelSelection, StateAction} from '../ahp/index.ts';
import {without} from '../ahp/edits.ts';
import {pendingMessage, turnCancelled, turnStarted, userMessage} from '../ahp/actions.ts';
import type {Draft} from './draft_sync.ts';

/** What sending means: a turn of its own, one after this turn, or words into this turn. */
export type Sending = 'send' | 'queue' | 'steer';

/** What Enter does, with the modifier and without. */
export function sendingOf(chat: ChatState, withMod: boolean): Sending {
  if (!chat.activeTurn) return 'send';
  return withMod ? 'steer' : 'queue';
}

/** The model and the agent that a message asks for. */
export interface Wanted {
  readonly model?: ModelSelection | undefined;
  readonly agent?: string | undefined;
}

/** A message as it is sent: mentions that are no longer in the text bring nothing along. */
export function messageOf(draft: Draft, wanted: Wanted = {}): Message {
  const {model, agent} = wanted;
  return userMessage(draft.text, {
    attachments: draft.attachments.map(attachment => inPlace(attachment, draft.text)),
    ...(model ? {model} : {}),
    ...(agent ? {agent} : {}),
  }) as Message;
}

/** The text that an attachment was mentioned by, kept in its `_meta`, where others may read it. */
const MENTION = 'agenthost/mention';

export const mentioned = (attachment: MessageAttachment, text: string): MessageAttachment =>
  ({...attachment, _meta: {...attachment._meta, [MENTION]: text}});

const mentionOf = (attachment: MessageAttachment): string | undefined => {
  const text = attachment._meta?.[MENTION];
  return typeof text === 'string' ? text : undefined;
};

/** The attachments that a text still mentions, with those that it need not. */
export function stillAttached(draft: Draft): readonly MessageAttachment[] {
  const gone = draft.attachments.some(attachment => isGone(attachment, draft.text));
  return gone ? draft.attachments.filter(attachment => !isGone(attachment, draft.text)) : draft.attachments;
}

function isGone(attachment: MessageAttachment, text: string): boolean {
  const mention = mentionOf(attachment);
  return mention !== undefined && !text.includes(mention);
}

function inPlace(attachment: MessageAttachment, text: string): MessageAttachment {
  const mention = mentionOf(attachment);
  const at = mention === undefined ? -1 : text.indexOf(mention);
  if (mention === undefined || at < 0) return attachment;
  const meta = without(attachment._meta ?? {}, MENTION);
  const rest = without(attachment, '_meta');
  const range = {start: position(text, at), end: position(text, at + mention.length)};
  return {...rest, range, ...(Object.keys(meta).length ? {_meta: meta} : {})};
}

function position(text: string, offset: number): {line: number; character: number} {
  const before = text.slice(0, offset);
  const newline = before.lastIndexOf('\n');
  return {line: before.split('\n').length - 1, character: offset - newline - 1};
}

/** The action that sends a message. */
export function sent(how: Sending, message: Message, id: string, now: string): StateAction {
  if (how === 'send') return turnStarted(id, message, now);
  return pendingMessage(how === 'queue' ? 'queued' : 'steering', id, message);
}

/** The action that stops the running turn. */
export function stopped(chat: ChatState, now: number): StateAction | undefined {
  const turn = chat.activeTurn;
  if (!turn) return undefined;
  const begun = Date.parse(turn.startedAt);
  return turnCancelled(turn.id, Number.isFinite(begun) ? Math.max(0, Math.round(now - begun)) : 0);
}
