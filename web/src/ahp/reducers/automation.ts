/** Reducers of the catalogue of automations. What clients request changes nothing: the host says what came of it. */
import {removeBy, updated, upsertBy} from '../edits.ts';
import {reduces} from '../registry.ts';

reduces('automation/createRequested', state => state, {client: true, touches: []});
reduces('automation/updateRequested', state => state, {client: true, touches: []});
reduces('automation/set', (state, action) =>
  updated(state, {entries: upsertBy(state.entries, 'resource', action.automation)}));

// Its runs have channels of their own.
reduces('automation/removed', (state, action) => {
  const entries = removeBy(state.entries, 'resource', action.resource);
  return entries ? {...state, entries} : state;
}, {client: true, touches: ['entries']});
