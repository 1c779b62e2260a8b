/** Reducers of chats for their own small fields, beside the turns. */
import {copied, removeBy, replacedList, updated, upsertBy, withItem, withoutItem} from '../../edits.ts';
import {reduces} from '../../registry.ts';
import {IS_ARCHIVED, IS_READ, withFlag} from '../../status.ts';

const FOLDERS = {client: true, touches: ['workingDirectories']};
const STATUS = {client: true, touches: ['status']};

reduces('chat/activityChanged', (state, action) => copied(state, action, 'activity'));

// A chat that inherited all of the session's folders then has this one only.
reduces('chat/workingDirectorySet', (state, action) => withItem(state, 'workingDirectories', action.directory), FOLDERS);
// The emptied set stays, and means none rather than all.
reduces('chat/workingDirectoryRemoved', (state, action) => withoutItem(state, 'workingDirectories', action.directory), FOLDERS);

reduces('chat/backgroundWorkSet', (state, action) =>
  updated(state, {backgroundWork: upsertBy(state.backgroundWork, 'id', action.work)}), {touches: ['backgroundWork']});
reduces('chat/backgroundWorkRemoved', (state, action) => {
  const backgroundWork = removeBy(state.backgroundWork, 'id', action.id);
  return backgroundWork ? {...state, backgroundWork} : state;
}, {touches: ['backgroundWork']});

reduces('chat/movableChanged', (state, action) => updated(state, {movable: action.movable}), {touches: ['movable']});
reduces('chat/changesetsChanged', (state, action) =>
  replacedList(state, 'changesets', action.changesets), {touches: ['changesets']});
reduces('chat/canvasesChanged', (state, action) => replacedList(state, 'canvases', action.canvases), {touches: ['canvases']});
reduces('chat/isReadChanged', (state, action) =>
  updated(state, {status: withFlag(state.status, IS_READ, action.isRead)}), STATUS);
reduces('chat/isArchivedChanged', (state, action) =>
  updated(state, {status: withFlag(state.status, IS_ARCHIVED, action.isArchived)}), STATUS);
