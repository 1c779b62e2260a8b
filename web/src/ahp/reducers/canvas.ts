/** The reducer of canvases. */
import {sameIfEqual} from '../edits.ts';
import {reduces} from '../registry.ts';

// Replaces the state whole. A null is none: without a state there would be nothing to show any more.
reduces('canvas/stateChanged', (state, action) => sameIfEqual(state, action.canvas ?? state));
