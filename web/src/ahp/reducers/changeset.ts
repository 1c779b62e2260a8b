/** Reducers of changesets. */
import {type J, carryGiven, copied, indexBy, removeBy, replaceAt, updated, upsertBy} from '../edits.ts';
import {reduces} from '../registry.ts';

// An error survives only in the status that says so.
const withStatus = (holder: J, action: J): J =>
  copied(updated(holder, {status: action.status}), action.status === 'error' ? action : {}, 'error');

reduces('changeset/statusChanged', withStatus);
reduces('changeset/fileSet', (state, action) => updated(state, {files: upsertBy(state.files, 'id', action.file)}));
reduces('changeset/fileRemoved', (state, action) => {
  const files = removeBy(state.files, 'id', action.fileId);
  return files ? {...state, files} : state;
});

// Marks the listed files that exist; an absent mark differs from false.
reduces('changeset/filesReviewChanged', (state, action) => {
  const listed = new Set<string>(action.files);
  const marked = (file: J): J =>
    !listed.has(file.id) || file.reviewed === action.reviewed ? file : {...file, reviewed: action.reviewed};
  return updated(state, {files: state.files.map(marked)});
}, {client: true});

reduces('changeset/contentChanged', (state, action) =>
  updated(state, {files: action.files, ...carryGiven(action, 'operations')}));
reduces('changeset/operationsChanged', (state, action) => copied(state, action, 'operations'));
reduces('changeset/operationStatusChanged', (state, action) => {
  const index = indexBy(state.operations, 'id', action.operationId);
  if (index < 0) return state;
  const before = state.operations[index];
  const after = withStatus(before, action);
  return after === before ? state : {...state, operations: replaceAt(state.operations, index, after)};
});
reduces('changeset/cleared', state => (state.files.length ? {...state, files: []} : state));
