/** Pushes: what the host tells this browser while the page is closed. */
import {signal} from '@preact/signals';
import {type HostMembers, type PushTarget, hostMembers} from '../ahp/own.ts';
import type {Store} from '../store/index.ts';
import {words} from '../words/index.ts';
import {installWorker, worker} from './browser.ts';
import {kindsOf, notifySettings} from './settings.ts';

type Asking = Pick<Store, 'ask' | 'host'>;

/** Whether the host and this browser can push. */
export const mayPush = (store: Pick<Store, 'host'>): boolean => keyOf(store) !== undefined && isSecureContext && 'PushManager' in globalThis;

const keyOf = (store: Pick<Store, 'host'>): HostMembers['push'] => hostMembers(store.host.value).push;

/** Why this browser gets no pushes, where that was tried. */
export const pushFailure = signal<string | undefined>(undefined);

/** Subscribe this browser as the settings say; or tell the host anew what is wanted. What refuses is in `pushFailure`. */
export async function subscribe(store: Asking): Promise<void> {
  try {
    await trySubscribing(store);
    pushFailure.value = undefined;
  } catch (error) {
    // Without pushes there is still what the open page tells.
    pushFailure.value = error instanceof Error ? error.message : String(error);
  }
}

async function trySubscribing(store: Asking): Promise<void> {
  const key = keyOf(store);
  if (key === undefined) return;
  const registration = (await worker()) ?? (await installWorker());
  if (!registration?.pushManager) throw new Error(words.notify.noWorker);
  const known = await registration.pushManager.getSubscription();
  // A subscription is bound to the key of the host for which it was made.
  if (known && !hasKey(known, key)) await known.unsubscribe();
  const subscription = await registration.pushManager.subscribe({userVisibleOnly: true, applicationServerKey: key});
  const settings = notifySettings.peek();
  await store.ask('agenthost/subscribePush', {subscription: subscription.toJSON() as PushTarget, kinds: kindsOf(settings), withText: settings.withText});
}

/** End the pushes to this browser. */
export async function unsubscribe(store: Asking): Promise<void> {
  const subscription = await (await worker())?.pushManager?.getSubscription();
  if (!subscription) return;
  const {endpoint} = subscription;
  await subscription.unsubscribe();
  await store.ask('agenthost/unsubscribePush', {endpoint});
}

/** Whether the host pushes to this browser. */
export async function isSubscribed(): Promise<boolean> {
  return Boolean(await (await worker())?.pushManager?.getSubscription().catch(() => null));
}

function hasKey(subscription: PushSubscription, key: string): boolean {
  const bytes = subscription.options.applicationServerKey;
  if (!bytes) return false;
  const text = btoa(String.fromCharCode(...new Uint8Array(bytes)));
  return text.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '') === key.replace(/=+$/, '');
}
