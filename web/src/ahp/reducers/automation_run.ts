/** Reducers of the channels of automations' runs. */
import {copied, updated, withItem, without, withoutItem} from '../edits.ts';
import {reduces} from '../registry.ts';

reduces('automationRun/lifecycleChanged', (state, action) => updated(state, {lifecycle: action.lifecycle}));
reduces('automationRun/sessionSet', (state, action) => withItem(state, 'sessions', action.session));

// Shows none when it was the one to show.
reduces('automationRun/sessionRemoved', (state, action) => {
  const removed = withoutItem(state, 'sessions', action.session);
  return removed === state || state.primarySession !== action.session ? removed : without(removed, 'primarySession');
});
reduces('automationRun/primarySessionChanged', (state, action) => copied(state, action, 'primarySession'));

// The host stops the run and says so.
reduces('automationRun/cancelRequested', state => state, {client: true, touches: []});
