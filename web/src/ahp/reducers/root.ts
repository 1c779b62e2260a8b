/** Reducers of the root. */
import {copied, updated} from '../edits.ts';
import {reduces} from '../registry.ts';

reduces('root/agentsChanged', (state, action) => copied(state, action, 'agents'));
reduces('root/activeSessionsChanged', (state, action) => copied(state, action, 'activeSessions'));
reduces('root/terminalsChanged', (state, action) => copied(state, action, 'terminals'));

// Merge the settings into the values, or put them in their place; a host may have none.
reduces('root/configChanged', (state, action) => {
  if (state.config == null) return state;
  const values = action.replace ? action.config : {...state.config.values, ...action.config};
  return updated(state, {config: {...state.config, values}});
}, {client: true, touches: ['config']});
