/** The terminals that a session shows, and who holds one (pure). */
import type {StateAction, TerminalClaim, TerminalInfo, TerminalLifecycleState} from '../../ahp/index.ts';

/** The terminals of a session, and the others of the host; running ones first. */
export function listed(terminals: readonly TerminalInfo[] | undefined, session: string): {ours: readonly TerminalInfo[]; others: readonly TerminalInfo[]} {
  const all = (terminals ?? []).toSorted((one, other) => Number(hasEnded(one.lifecycle)) - Number(hasEnded(other.lifecycle)));
  const isOurs = ({claim}: TerminalInfo): boolean => claim.kind === 'session' && claim.session === session;
  return {ours: all.filter(isOurs), others: all.filter(info => !isOurs(info))};
}

export const hasEnded = (lifecycle: TerminalLifecycleState): boolean => lifecycle.status === 'exited';

/** Who has a terminal: a command of the agent, a session in the background, or somebody's window. */
export function holder(claim: TerminalClaim): 'call' | 'session' | 'client' {
  if (claim.kind === 'client') return 'client';
  return claim.toolCallId === undefined ? 'session' : 'call';
}

/** Let the call that runs in a terminal end now, and its process go on in the background; undefined where none runs. */
export function detached(claim: TerminalClaim): StateAction | undefined {
  if (claim.kind !== 'session' || claim.toolCallId === undefined) return undefined;
  return {type: 'terminal/claimed', claim: {kind: 'session', session: claim.session, chat: claim.chat}};
}
