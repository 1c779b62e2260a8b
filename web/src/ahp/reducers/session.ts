/** Reducers of sessions: lifecycle, chat catalogue, metadata, clients, folders, prompts. */
import {type J, copied, indexBy, removeBy, replaceAt, replacedList, same, sameIfEqual, updated, upsertBy, withItem, without, withoutItem} from '../edits.ts';
import {reduces} from '../registry.ts';
import {INPUT_NEEDED, IN_PROGRESS, IS_ARCHIVED, IS_READ, withActivity, withFlag} from '../status.ts';

const client = (...touches: string[]): {client: true; touches: string[]} => ({client: true, touches});

// Its status stays, for a first turn may run already.
reduces('session/ready', state => updated(state, {lifecycle: 'ready'}));
reduces('session/creationFailed', (state, action) => updated(state, {lifecycle: 'failed', creationError: action.error}));

reduces('session/chatAdded', (state, action) => updated(state, {chats: upsertBy(state.chats, 'resource', action.summary)}));
reduces('session/chatRemoved', (state, action) => {
  const chats = removeBy(state.chats, 'resource', action.chat);
  if (!chats) return state;
  const removed = {...state, chats};
  return state.defaultChat === action.chat ? without(removed, 'defaultChat') : removed;
});

// A chat's identity cannot change and nothing can be cleared.
reduces('session/chatUpdated', (state, action) => {
  const index = indexBy(state.chats, 'resource', action.chat);
  if (index < 0) return state;
  const merged = updated(state.chats[index], without(action.changes, 'resource'));
  return updated(state, {chats: replaceAt(state.chats, index, merged)});
});

// An order that does not name each chat once is ignored.
reduces('session/chatsReordered', (state, action) => {
  const listed = new Map<string, J>(state.chats.map((chat: J) => [chat.resource, chat]));
  const known = state.chats.map((chat: J) => chat.resource);
  if (!same(action.chats.toSorted(), known.toSorted())) return state;
  return updated(state, {chats: action.chats.map((resource: string) => listed.get(resource))});
}, {touches: ['chats']});

reduces('session/defaultChatChanged', (state, action) => copied(state, action, 'defaultChat'));
reduces('session/titleChanged', (state, action) => updated(state, {title: action.title}), client('title'));
reduces('session/isReadChanged', (state, action) =>
  updated(state, {status: withFlag(state.status, IS_READ, action.isRead)}), client('status'));
reduces('session/isArchivedChanged', (state, action) =>
  updated(state, {status: withFlag(state.status, IS_ARCHIVED, action.isArchived)}), client('status'));
reduces('session/activityChanged', (state, action) => copied(state, action, 'activity'));
reduces('session/changesetsChanged', (state, action) => replacedList(state, 'changesets', action.changesets));

// A session without a schema has no configuration.
reduces('session/configChanged', (state, action) => {
  if (state.config == null) return state;
  const kept = action.replace ? {} : state.config.values;
  return updated(state, {config: {...state.config, values: {...kept, ...action.config}}});
}, client('config'));

reduces('session/metaChanged', (state, action) => copied(state, action, '_meta'));
reduces('session/serverToolsChanged', (state, action) => updated(state, {serverTools: action.tools}));

reduces('session/activeClientSet', (state, action) =>
  updated(state, {activeClients: upsertBy(state.activeClients, 'clientId', action.activeClient)}), client('activeClients'));
reduces('session/activeClientRemoved', (state, action) => {
  const activeClients = removeBy(state.activeClients, 'clientId', action.clientId);
  return activeClients ? {...state, activeClients} : state;
}, client('activeClients'));

reduces('session/workingDirectorySet', (state, action) =>
  withItem(state, 'workingDirectories', action.directory), client('workingDirectories'));
// The emptied set stays, and means no folder.
reduces('session/workingDirectoryRemoved', (state, action) =>
  withoutItem(state, 'workingDirectories', action.directory), client('workingDirectories'));
// One that stood earlier keeps its place instead.
reduces('session/workingDirectoryReplaced', (state, action) => {
  const folders: string[] = state.workingDirectories ?? [];
  const at = folders.indexOf(action.directory);
  if (at < 0) return state;
  const before = folders.slice(0, at);
  const after = folders.slice(at + 1);
  const workingDirectories = before.includes(action.replacement)
    ? [...before, ...after]
    : [...before, action.replacement, ...after.filter(folder => folder !== action.replacement)];
  return updated(state, {workingDirectories});
}, client('workingDirectories'));

// What tells INPUT_NEEDED from the IN_PROGRESS that it contains.
const ONLY_INPUT_NEEDED = INPUT_NEEDED & ~IN_PROGRESS;

// The session needs input while anything waits for a person; a client that is to run a tool is none.
// The last person gone leaves the session in progress, not idle.
function waitingFor(state: J, inputNeeded: J[]): J {
  const status = inputNeeded.some(entry => entry.kind !== 'toolClientExecution')
    ? withActivity(state.status, INPUT_NEEDED)
    : withFlag(state.status, ONLY_INPUT_NEEDED, false);
  const listed = {...state, inputNeeded, status};
  return inputNeeded.length ? listed : without(listed, 'inputNeeded');
}

reduces('session/inputNeededSet', (state, action) =>
  sameIfEqual(state, waitingFor(state, upsertBy(state.inputNeeded, 'id', action.request))));
reduces('session/inputNeededRemoved', (state, action) => {
  const waiting = removeBy(state.inputNeeded, 'id', action.id);
  return waiting ? waitingFor(state, waiting) : state;
});
