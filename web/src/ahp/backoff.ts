/** Reconnect policy: how long to wait before the next attempt, and when to give up. Time and chance are handed in. */

// Milliseconds: the bound of the first delay, and the largest bound.
const FIRST = 250;
const LONGEST = 30_000;

/** A connection that lasted this many milliseconds was a good one: the next attempt is a first one. */
export const STABLE = 10_000;

/** Milliseconds before an attempt, counted from 0: full jitter, so that the clients of a host that restarted do not come back all at once. `roll` is random in [0, 1). */
export const delay = (attempt: number, roll: number, atLeast = 0): number =>
  Math.max(atLeast, roll * Math.min(LONGEST, FIRST * 2 ** Math.min(attempt, 16)));

/** What to do after a connection ended: try again, or stop because that cannot help. */
export type Verdict = 'retry' | 'superseded' | 'refused';

// The host ends a connection for what the client is or does.
const POLICY_VIOLATION = 1008;

// A handshake refused with one of these will be refused again in the same words: malformed requests, no version in
// common, no token, not allowed.
const FINAL: ReadonlySet<number> = new Set([-32600, -32601, -32602, -32005, -32007, -32009]);

/** Judge a closed socket. Only what ended after the handshake was ended by the host on purpose. */
export function afterClose(code: number, reason: string, established: boolean): Verdict {
  if (code !== POLICY_VIOLATION || !established) return 'retry';
  // Two tabs that share a client id would otherwise throw each other out for ever.
  return reason.includes('supersede') ? 'superseded' : 'refused';
}

/** Judge a handshake that the host answered with an error. */
export const afterRefusal = (code: number): Verdict => (FINAL.has(code) ? 'refused' : 'retry');
