/** The actions that a client dispatches, built from plain values. Whether one is acceptable is for the host to say. */
import {type J, indexBy} from './edits.ts';
import type {StateAction} from './types.ts';

/** A message that a person sends; `model` is an id or a selection, `agent` a URI. */
export function userMessage(text: string, o: {attachments?: readonly J[]; model?: string | J; agent?: string} = {}): J {
  return {
    text,
    origin: {kind: 'user'},
    ...(o.attachments?.length ? {attachments: o.attachments} : {}),
    ...(o.model == null ? {} : {model: typeof o.model === 'string' ? {id: o.model} : o.model}),
    ...(o.agent == null ? {} : {agent: {uri: o.agent}}),
  };
}

export const turnStarted = (turnId: string, message: J, now: string): StateAction =>
  ({type: 'chat/turnStarted', turnId, startedAt: now, message}) as StateAction;
export const turnResumed = (turnId: string): StateAction => ({type: 'chat/turnResume', turnId}) as StateAction;
/** Stop a turn; the duration is in milliseconds. */
export const turnCancelled = (turnId: string, duration: number): StateAction =>
  ({type: 'chat/turnCancelled', turnId, duration}) as StateAction;
/** Queue a message, or steer with it. */
export const pendingMessage = (kind: 'queued' | 'steering', id: string, message: J): StateAction =>
  ({type: 'chat/pendingMessageSet', kind, id, message}) as StateAction;

const option = (id: string | undefined): J => (id === undefined ? {} : {selectedOptionId: id});

/** Approve a call, or its result, whichever waits. */
export function approval(turnId: string, call: J, o: {option?: string; editedInput?: string} = {}): StateAction {
  const target = {turnId, toolCallId: call.toolCallId, approved: true};
  if (call.status === 'pending-result-confirmation') return {type: 'chat/toolCallResultConfirmed', ...target} as StateAction;
  const edited = o.editedInput === undefined ? {} : {editedToolInput: o.editedInput};
  return {type: 'chat/toolCallConfirmed', ...target, confirmed: 'user-action', ...edited, ...option(o.option)} as StateAction;
}

/** Deny a call, or its result; `suggestion` tells the agent more. */
export function denial(turnId: string, call: J, o: {option?: string; reason?: string; suggestion?: string; skip?: boolean} = {}): StateAction {
  const target = {turnId, toolCallId: call.toolCallId, approved: false};
  if (call.status === 'pending-result-confirmation') return {type: 'chat/toolCallResultConfirmed', ...target} as StateAction;
  return {
    type: 'chat/toolCallConfirmed',
    ...target,
    reason: o.skip ? 'skipped' : 'denied',
    ...(o.reason === undefined ? {} : {reasonMessage: o.reason}),
    ...(o.suggestion === undefined ? {} : {userSuggestion: userMessage(o.suggestion)}),
    ...option(o.option),
  } as StateAction;
}

/** Settle an agent's questions. */
export function inputCompleted(requestId: string, response: 'accept' | 'decline' | 'cancel', answers: J = {}): StateAction {
  const given = Object.keys(answers).length ? {answers} : {};
  return {type: 'chat/inputCompleted', requestId, response, ...given} as StateAction;
}

/** Complete a client's own tool call. */
export const completion = (turnId: string, toolCallId: string, result: J): StateAction =>
  ({type: 'chat/toolCallComplete', turnId, toolCallId, result}) as StateAction;
/** Replace what a client's running tool call shows so far. */
export const contentChange = (turnId: string, toolCallId: string, content: readonly J[]): StateAction =>
  ({type: 'chat/toolCallContentChanged', turnId, toolCallId, content}) as StateAction;

/** The decisions about a customization with another one in, the narrowest first. `scope` is "session", "global" or a workspace's URI. */
export function decided(session: J, id: string, enabled: boolean, scope: string): J[] {
  const isNamed = scope === 'session' || scope === 'global';
  const decision: J = isNamed ? {kind: scope, enabled} : {kind: 'workspace', uri: scope, enabled};
  const others = decisions(session, id).filter(other => other.kind !== decision.kind || other.uri !== decision.uri);
  return [decision, ...others].toSorted((one, other) => narrowness(one) - narrowness(other));
}

function decisions(session: J, id: string): readonly J[] {
  for (const entry of session.customizations ?? []) {
    const all = [entry, ...(entry.children ?? [])];
    const index = indexBy(all, 'id', id);
    if (index >= 0) return all[index].enablement ?? [];
  }
  return [];
}

const ORDER = ['session', 'workspace', 'global'];
const narrowness = (decision: J): number => (ORDER.includes(decision.kind) ? ORDER.indexOf(decision.kind) : ORDER.length);
