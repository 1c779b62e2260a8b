/** Applying an action to a channel's state. Importing this module is what fills the table of reducers. */
import './reducers/annotations.ts';
import './reducers/automation.ts';
import './reducers/automation_run.ts';
import './reducers/canvas.ts';
import './reducers/changeset.ts';
import './reducers/chat/fields.ts';
import './reducers/chat/input.ts';
import './reducers/chat/pending.ts';
import './reducers/chat/tool_calls.ts';
import './reducers/chat/turns.ts';
import './reducers/customizations.ts';
import './reducers/resource_watch.ts';
import './reducers/root.ts';
import './reducers/session.ts';
import './reducers/terminal.ts';
import {type Kind, kindOf, reducers} from './registry.ts';
import type {
  AnnotationsState, AutomationRunState, AutomationState, CanvasState, ChangesetState, ChatState, ResourceWatchState, RootState,
  SessionState, StateAction, TerminalState,
} from './types.ts';

/** The state of each kind of channel. */
export interface States {
  root: RootState;
  session: SessionState;
  chat: ChatState;
  terminal: TerminalState;
  changeset: ChangesetState;
  annotations: AnnotationsState;
  resourceWatch: ResourceWatchState;
  automation: AutomationState;
  automationRun: AutomationRunState;
  canvas: CanvasState;
}

/**
 * The state after an action; the same object when the action changes nothing. An unknown action, or
 * one that belongs to another kind of channel, changes nothing.
 */
export function reduce<K extends Kind>(kind: K, state: States[K], action: StateAction): States[K] {
  const type: unknown = action.type;
  if (typeof type !== 'string' || kindOf(type) !== kind) return state;
  return reducers.get(type)?.(state, action) ?? state;
}
