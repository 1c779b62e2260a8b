/** Reducers of chats for turns: their life, their text, and the transcript they form. */
import {type J, carry, copied, indexBy, sameIfEqual, updated, without} from '../../edits.ts';
import {reduces} from '../../registry.ts';
import {ERROR, IDLE, withActivity} from '../../status.ts';
import {markedUnread, matchingTurn, refreshed, withPartAdded, withPartAt} from './active_turn.ts';
import {withoutPending} from './pending.ts';
import {interruptedPart} from './tool_calls.ts';

const CLIENT = {client: true};

// Over any turn that still runs. The chat was modified when the turn says that it started.
reduces('chat/turnStarted', (state, action) => {
  const activeTurn = {id: action.turnId, ...carry(action, 'startedAt'), message: action.message, responseParts: []};
  const started = {...state, activeTurn, ...(action.startedAt ? {modifiedAt: action.startedAt} : {})};
  return sameIfEqual(state, withoutPending(markedUnread(refreshed(started)), action.queuedMessageId));
}, CLIENT);

// A failure is no part of its own: it ends the turn.
reduces('chat/responsePart', (state, action) => {
  const turn = matchingTurn(state, action.turnId);
  return !turn || action.part.kind === 'error' ? state : withPartAdded(state, turn, action.part);
});

// The first part of that id: ids may repeat. Parts of the kinds that have no id cannot be addressed.
const addressed = (parts: readonly J[], id: string): number =>
  parts.findIndex(part => (part.kind === 'toolCall' ? part.toolCall.toolCallId : part.id) === id);

const appended = (kind: 'markdown' | 'reasoning') => (state: J, action: J): J => {
  const turn = matchingTurn(state, action.turnId);
  const index = turn ? addressed(turn.responseParts, action.partId) : -1;
  if (index < 0 || !action.content) return state;
  const part = turn.responseParts[index];
  return part.kind === kind ? withPartAt(state, turn, index, {...part, content: part.content + action.content}) : state;
};
reduces('chat/delta', appended('markdown'));
reduces('chat/reasoning', appended('reasoning'));

reduces('chat/usage', (state, action) => {
  const turn = matchingTurn(state, action.turnId);
  return turn ? updated(state, {activeTurn: {...turn, usage: action.usage}}) : state;
});

reduces('chat/turnComplete', (state, action) => ended(state, action, 'complete', IDLE));
reduces('chat/turnCancelled', (state, action) => ended(state, action, 'cancelled', IDLE), CLIENT);
reduces('chat/error', (state, action) => ended(state, action, 'error', ERROR, action.part));

function ended(state: J, action: J, outcome: string, activity: number, ...last: J[]): J {
  const active = matchingTurn(state, action.turnId);
  if (!active) return state;
  const turn: J = {
    ...carry(active, 'id', 'startedAt'),
    // The producer's clock may have stepped back, which must not show as negative time.
    ...(Object.hasOwn(action, 'duration') ? {duration: Math.max(0, action.duration ?? 0)} : {}),
    message: active.message,
    responseParts: [...active.responseParts.map(interruptedPart), ...last],
    ...carry(active, 'usage'),
    state: outcome,
  };
  const modifiedAt = endOf(active.startedAt, turn.duration);
  return {
    ...without(state, 'activeTurn'),
    turns: [...state.turns, turn],
    status: withActivity(state.status, activity),
    ...(modifiedAt === undefined ? {} : {modifiedAt}),
  };
}

const MOMENT = /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$/;

/** When a turn ended that took so many milliseconds; undefined if its start cannot be read. */
function endOf(startedAt: unknown, duration: number | undefined): string | undefined {
  const read = typeof startedAt === 'string' ? MOMENT.exec(startedAt) : null;
  if (!read) return undefined;
  // Without a zone it is UTC, and not where the page happens to be.
  const end = new Date(Date.parse(read[1] && !read[4] ? `${read[0]}Z` : read[0]) + (duration ?? 0));
  return Number.isNaN(end.getTime()) ? undefined : end.toISOString();
}

// Takes up the last turn again where it failed, if its failure allows that.
reduces('chat/turnResume', (state, action) => {
  const turn = state.turns.at(-1);
  if (state.activeTurn != null || !turn || turn.id !== action.turnId || turn.state !== 'error') return state;
  const last = turn.responseParts.at(-1);
  if (last?.kind !== 'error' || last.resumable !== true) return state;
  const activeTurn = {
    id: turn.id,
    // Turns of older protocols did not say; when the chat was last modified is the best guess.
    startedAt: turn.startedAt || state.modifiedAt,
    ...carry(turn, 'message', 'responseParts', 'usage'),
  };
  return markedUnread(refreshed({...state, turns: state.turns.slice(0, -1), activeTurn}));
}, CLIENT);

const cut = (state: J, length: number): J => ({...without(state, 'activeTurn'), turns: state.turns.slice(0, length)});

// Only an absent turnId drops everything: a null one names no turn, and changes nothing.
reduces('chat/truncated', (state, action) => {
  if (!Object.hasOwn(action, 'turnId')) return sameIfEqual(state, refreshed(cut(without(state, 'turnsNextCursor'), 0)));
  const index = indexBy(state.turns, 'id', action.turnId);
  return index < 0 ? state : sameIfEqual(state, refreshed(cut(state, index + 1)));
}, CLIENT);

// Puts older turns in front, keeping the loaded copy of any that is there already.
reduces('chat/turnsLoaded', (state, action) => {
  const loaded = new Set<string>(state.turns.map((turn: J) => turn.id));
  const older = action.turns.filter((turn: J) => !loaded.has(turn.id));
  return copied(older.length ? {...state, turns: [...older, ...state.turns]} : state, action, 'turnsNextCursor');
});
