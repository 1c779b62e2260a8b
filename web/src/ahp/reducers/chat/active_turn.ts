/** What the reducers of a chat share: the active turn, its parts, and the status that follows from them. */
import {type J, replaceAt} from '../../edits.ts';
import {IDLE, INPUT_NEEDED, IN_PROGRESS, IS_READ, withActivity, withFlag} from '../../status.ts';

/** The active turn if it has this id. */
export const matchingTurn = (state: J, id: string): J | undefined =>
  state.activeTurn && state.activeTurn.id === id ? state.activeTurn : undefined;

export const withParts = (state: J, turn: J, responseParts: readonly J[]): J => ({...state, activeTurn: {...turn, responseParts}});
export const withPartAt = (state: J, turn: J, index: number, part: J): J =>
  withParts(state, turn, replaceAt(turn.responseParts, index, part));
export const withPartAdded = (state: J, turn: J, part: J): J => withParts(state, turn, [...turn.responseParts, part]);

const BLOCKED: ReadonlySet<string> = new Set(['pending-confirmation', 'pending-result-confirmation', 'auth-required']);

export const isOpenRequest = (part: J): boolean => part.kind === 'inputRequest' && !Object.hasOwn(part, 'response');
const blocks = (part: J): boolean => (part.kind === 'toolCall' ? BLOCKED.has(part.toolCall.status) : isOpenRequest(part));

/** The state with the activity that its active turn comes to. */
export function refreshed(state: J): J {
  const turn = state.activeTurn;
  const busy = turn?.responseParts.some(blocks) ? INPUT_NEEDED : IN_PROGRESS;
  const status = withActivity(state.status, turn ? busy : IDLE);
  return status === state.status ? state : {...state, status};
}

export const markedUnread = (state: J): J => ({...state, status: withFlag(state.status, IS_READ, false)});
