/** Reducers of chats for what is not sent yet: queued messages, the steering message, the draft. */
import {type J, copied, indexBy, updated, upsertBy, without} from '../../edits.ts';
import {reduces} from '../../registry.ts';

const PENDING = {client: true, touches: ['steeringMessage', 'queuedMessages']};

reduces('chat/pendingMessageSet', (state, action) => {
  const entry = {id: action.id, message: action.message};
  if (action.kind === 'steering') return updated(state, {steeringMessage: entry});
  return updated(state, {queuedMessages: upsertBy(state.queuedMessages, 'id', entry)});
}, PENDING);

reduces('chat/pendingMessageRemoved', (state, action) => {
  if (action.kind === 'steering') return withoutSteering(state, action.id);
  return indexBy(state.queuedMessages, 'id', action.id) < 0 ? state : withoutQueued(state, action.id);
}, PENDING);

// Ids that are not queued are skipped; messages that are not named come last, in their order.
reduces('chat/queuedMessagesReordered', (state, action) => {
  const queued: J[] | undefined = state.queuedMessages;
  if (!queued) return state;
  const byId = new Map<string, J>(queued.map(entry => [entry.id, entry]));
  const named = new Set<string>(action.order.filter((id: string) => byId.has(id)));
  const rest = queued.filter(entry => !named.has(entry.id));
  return updated(state, {queuedMessages: [...[...named].map(id => byId.get(id)), ...rest]});
}, {client: true, touches: ['queuedMessages']});

reduces('chat/draftChanged', (state, action) => copied(state, action, 'draft'), {client: true, touches: ['draft']});

/** The state without the pending message of that id, if there is an id. */
export const withoutPending = (state: J, id: string | undefined): J =>
  id ? withoutQueued(withoutSteering(state, id), id) : state;

const withoutSteering = (state: J, id: string): J =>
  state.steeringMessage?.id === id ? without(state, 'steeringMessage') : state;

function withoutQueued(state: J, id: string): J {
  if (!state.queuedMessages) return state;
  const queuedMessages = state.queuedMessages.filter((entry: J) => entry.id !== id);
  return queuedMessages.length ? {...state, queuedMessages} : without(state, 'queuedMessages');
}
