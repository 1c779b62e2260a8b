/** Reducers of chats for tool calls, as they move through their states. */
import {type J, carry, carryGiven, indexBy, prefer, sameIfEqual} from '../../edits.ts';
import {reduces} from '../../registry.ts';
import {matchingTurn, refreshed, withPartAdded, withParts} from './active_turn.ts';

const BASE = ['toolCallId', 'toolName', 'displayName', 'intention', 'contributor', '_meta'];
const INVOCATION = ['invocationMessage', 'toolInput'];
const CONFIRMATION = ['confirmationTitle', 'riskAssessment', 'edits', 'editable'];
const RESULT = ['success', 'pastTenseMessage', 'content', 'structuredContent', 'error'];

const CALL = {client: true, touches: ['activeTurn', 'status']};

type Move = (call: J, action: J) => J;

const base: Move = (call, action) => ({...carry(call, ...BASE), ...prefer(action, call, '_meta')});

/** Move the calls that an action names; whatever else is in the turn stays the same object. */
function moved(state: J, action: J, move: Move): J {
  const turn = matchingTurn(state, action.turnId);
  if (!turn) return state;
  let changed = false;
  const parts = turn.responseParts.map((part: J) => {
    if (part.kind !== 'toolCall' || part.toolCall.toolCallId !== action.toolCallId) return part;
    const after = sameIfEqual(part, {...part, toolCall: move(part.toolCall, action)});
    changed ||= after !== part;
    return after;
  });
  return changed ? withParts(state, turn, parts) : state;
}

/** A part as it stays behind when its turn ends: a call that still ran is cancelled. */
export function interruptedPart(part: J): J {
  if (part.kind !== 'toolCall') return part;
  const call = part.toolCall;
  if (call.status === 'completed' || call.status === 'cancelled') return part;
  const invocation = call.status === 'streaming'
    ? prefer(call, {invocationMessage: ''}, 'invocationMessage')
    : carry(call, ...INVOCATION);
  return {kind: 'toolCall', toolCall: {status: 'cancelled', ...carry(call, ...BASE), ...invocation, reason: 'skipped'}};
}

reduces('chat/toolCallStart', (state, action) => {
  const turn = matchingTurn(state, action.turnId);
  const toolCall = {...carry(action, ...BASE), status: 'streaming'};
  return turn ? withPartAdded(state, turn, {kind: 'toolCall', toolCall}) : state;
});

reduces('chat/toolCallDelta', (state, action) => moved(state, action, (call, said) => {
  if (call.status !== 'streaming') return call;
  const input = said.content == null ? {} : {partialInput: (call.partialInput ?? '') + said.content};
  return {...call, ...carry(said, '_meta'), ...input, ...prefer(said, call, 'invocationMessage')};
}));

// A call cannot change hands between clients, nor between a client and the host.
function contributor(call: J, action: J): J {
  const offered = action.contributor;
  const current = call.contributor;
  if (offered == null) return {};
  const mayTake = current?.kind === 'client'
    ? offered.kind === 'client' && offered.clientId === current.clientId
    : offered.kind !== 'client';
  return mayTake ? {contributor: offered} : {};
}

const BEFORE_RUNNING: ReadonlySet<string> = new Set(['streaming', 'running', 'pending-confirmation']);

reduces('chat/toolCallReady', (state, action) => refreshed(moved(state, action, (call, said) => {
  if (!BEFORE_RUNNING.has(call.status)) return call;
  const ready = {
    ...base(call, said),
    ...prefer(said, call, 'intention'),
    ...contributor(call, said),
    ...prefer(said, call, 'invocationMessage'),
    ...prefer(said, call.status === 'streaming' ? {} : call, 'toolInput'),
  };
  if (said.confirmed) return {status: 'running', ...ready, ...carry(said, 'confirmed')};
  const shown = call.status === 'pending-confirmation' ? call : {};
  const options = carryGiven(prefer(said, shown, 'options'), 'options');
  return {status: 'pending-confirmation', ...ready, ...prefer(said, shown, ...CONFIRMATION), ...options};
})));

reduces('chat/toolCallConfirmed', (state, action) => refreshed(moved(state, action, (call, said) => {
  if (call.status !== 'pending-confirmation') return call;
  const kept = {...base(call, said), ...carry(call, ...INVOCATION)};
  const index = said.selectedOptionId ? indexBy(call.options, 'id', said.selectedOptionId) : -1;
  const chosen = index < 0 ? {} : {selectedOption: call.options[index]};
  if (!said.approved) return {status: 'cancelled', ...kept, ...carry(said, 'reason', 'reasonMessage', 'userSuggestion'), ...chosen};
  const isEdited = Object.hasOwn(said, 'editedToolInput') && typeof call.toolInput === 'string';
  const input = isEdited ? {toolInput: said.editedToolInput} : {};
  return {status: 'running', ...kept, ...input, ...carry(said, 'confirmed'), ...chosen};
})), CALL);

const approval = (call: J): J =>
  call.status === 'pending-confirmation'
    ? {confirmed: 'not-needed'}
    : {...carry(call, 'confirmed'), ...carryGiven(call, 'selectedOption')};

const COMPLETABLE: ReadonlySet<string> = new Set(['running', 'pending-confirmation', 'auth-required']);

// A call that waits for a sign-in can fail, but not succeed.
reduces('chat/toolCallComplete', (state, action) => refreshed(moved(state, action, (call, said) => {
  if (!COMPLETABLE.has(call.status)) return call;
  const isPaused = call.status === 'auth-required';
  if (isPaused && said.result.success) return call;
  return {
    status: said.requiresResultConfirmation && !isPaused ? 'pending-result-confirmation' : 'completed',
    ...base(call, said),
    ...carry(call, ...INVOCATION),
    ...approval(call),
    ...(isPaused ? carryGiven(call, 'content') : {}),
    ...said.result,
  };
})), CALL);

reduces('chat/toolCallResultConfirmed', (state, action) => refreshed(moved(state, action, (call, said) => {
  if (call.status !== 'pending-result-confirmation') return call;
  const kept = {...base(call, said), ...carry(call, ...INVOCATION)};
  return said.approved
    ? {status: 'completed', ...kept, ...approval(call), ...carry(call, ...RESULT)}
    : {status: 'cancelled', ...kept, reason: 'result-denied', ...carryGiven(call, 'selectedOption')};
})), CALL);

reduces('chat/toolCallContentChanged', (state, action) => moved(state, action, (call, said) =>
  call.status === 'running' ? {...call, ...carry(said, '_meta', 'content')} : call), {client: true, touches: ['activeTurn']});

const execution: Move = (call, action) =>
  ({...base(call, action), ...carry(call, ...INVOCATION, 'confirmed'), ...carryGiven(call, 'selectedOption', 'content')});

reduces('chat/toolCallAuthRequired', (state, action) => refreshed(moved(state, action, (call, said) =>
  call.status === 'running' && call.contributor?.kind === 'mcp'
    ? {status: 'auth-required', ...execution(call, said), ...carry(said, 'auth')}
    : call)));
reduces('chat/toolCallAuthResolved', (state, action) => refreshed(moved(state, action, (call, said) =>
  call.status === 'auth-required' ? {status: 'running', ...execution(call, said)} : call)));
