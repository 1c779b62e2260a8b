/** Signing out of this browser: everything that it keeps is forgotten, in every tab. */
import {forgetDevice} from './device.ts';
import {forgetKept} from './kept.ts';

const CHANNEL = 'agenthost.signOut';

/** Forget the token, the drafts, the states of old, the files of the page, and the push subscription; tell the other tabs. */
export async function forgetAll(): Promise<void> {
  forgetDevice();
  const forgetting = [forgetKept(), forgetFiles(), forgetPush()];
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

async function forgetPush(): Promise<void> {
  const registration = await (navigator as {serviceWorker?: ServiceWorkerContainer}).serviceWorker?.getRegistration();
  await (await registration?.pushManager?.getSubscription())?.unsubscribe();
}
