/**
 * One client id per tab.
 *
 * It survives a reload, so that the host sees the same client come back. A duplicated tab copies it,
 * and two clients of one id would throw each other out: so each claims its id first.
 */
import {newId} from './ids.ts';

const KEY = 'agenthost.client';
/** Milliseconds in which another tab says that an id is its own. */
const PATIENCE = 50;

interface Claims {
  /** Claim an id for as long as the page lives; false when another page has it. */
  claim(id: string): Promise<boolean>;
}

/** The id of this tab: the one that it had, if no other tab has it now. */
export async function clientId(storage: Pick<Storage, 'getItem' | 'setItem'> | undefined = sessionStore(), claims: Claims = browserClaims()): Promise<string> {
  const kept = storage?.getItem(KEY);
  if (kept && (await claims.claim(kept))) return kept;
  const id = newId();
  storage?.setItem(KEY, id);
  await claims.claim(id);
  return id;
}

/** Forget the id of this tab: an id belongs to whoever used it first. */
export function forgetClientId(): void {
  sessionStore()?.removeItem(KEY);
}

function sessionStore(): Storage | undefined {
  try {
    return sessionStorage;
  } catch {
    return undefined;
  }
}

function browserClaims(): Claims {
  const locks = (navigator as {locks?: LockManager}).locks;
  return locks ? lockClaims(locks) : channelClaims();
}

function lockClaims(locks: LockManager): Claims {
  return {
    claim: id =>
      new Promise<boolean>(resolve => {
        const held = locks.request(`${KEY}.${id}`, {ifAvailable: true}, lock => {
          resolve(lock !== null);
          // Held until the page goes.
          return lock ? new Promise<void>(() => {}) : undefined;
        });
        held?.catch(() => resolve(true));
      }),
  };
}

// Without locks (plain HTTP): ask around, and answer for as long as the page lives.
function channelClaims(): Claims {
  if (typeof BroadcastChannel === 'undefined') return {claim: () => Promise.resolve(true)};
  const channel = new BroadcastChannel(KEY);
  // A channel has no target origin: it reaches its own alone.
  const tell = (message: {ask?: string; taken?: string}): void => void Reflect.apply(channel.postMessage, channel, [message]);
  let own: string | undefined;
  let taken: (() => void) | undefined;
  channel.addEventListener('message', (event: MessageEvent<{ask?: string; taken?: string}>) => {
    if (event.data.ask !== undefined && event.data.ask === own) tell({taken: own});
    else if (event.data.taken !== undefined) taken?.();
  });
  return {
    claim: async id => {
      const isFree = await new Promise<boolean>(resolve => {
        taken = () => resolve(false);
        setTimeout(() => resolve(true), PATIENCE);
        tell({ask: id});
      });
      taken = undefined;
      if (isFree) own = id;
      return isFree;
    },
  };
}
