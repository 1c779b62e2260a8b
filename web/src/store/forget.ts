/** Signing out of this browser: everything that it keeps is forgotten, in every tab. */
import {forgetDevice} from './device.ts';
import type {Store} from './index.ts';
import {forgetKept} from './kept.ts';

const CHANNEL = 'agenthost.signOut';
/** Milliseconds that the host has to take note. */
const PATIENCE = 2_000;

/** Forget the token, the drafts, the states of old, the files of the page, and the push subscription; tell the other tabs. */
export async function forgetAll(store: Pick<Store, 'ask' | 'host'>): Promise<void> {
  const telling = forgetPush(store);
  forgetDevice();
  const forgetting = [telling, forgetKept(), forgetFiles()];
  broadcast()?.postMessage('signedOut', []);
  await Promise.allSettled(forgetting);
}

/** Call a function when another tab signs out. */
export function onSignedOutElsewhere(run: () => void): void {
  broadcast()?.addEventListener('message', run);
}

let opened: MessagePort | undefined;
function broadcast(): MessagePort | undefined {
  if (typeof BroadcastChannel === 'undefined') return undefined;
  return (opened ??= new BroadcastChannel(CHANNEL) as unknown as MessagePort);
}

async function forgetFiles(): Promise<void> {
  if (typeof caches === 'undefined') return;
  await Promise.all((await caches.keys()).map(name => caches.delete(name)));
}

// The host is told too, as long as it listens.
async function forgetPush(store: Pick<Store, 'ask' | 'host'>): Promise<void> {
  const {unsubscribe} = await import('../notify/push.ts');
  const patience = new Promise<void>(resolve => {
    setTimeout(resolve, PATIENCE);
  });
  await Promise.race([unsubscribe(store), patience]);
}
