/** Sets up what tells somebody who does not look: notifications, the badge, pushes. */
import {effect} from '@preact/signals';
import type {Timer} from '../ahp/index.ts';
import {parse} from '../address.ts';
import {go} from '../route.ts';
import {muted} from '../sessions/muted.ts';
import type {HostStore} from '../store/host_store.ts';
import {badge, close, installWorker, show} from './browser.ts';
import {Notifier} from './notifier.ts';
import {isSubscribed, subscribe} from './push.ts';
import {type Reason, Reasons} from './reasons.ts';
import {kindsOf, notifySettings} from './settings.ts';

const isVisible = (): boolean => document.visibilityState === 'visible';

/** Start to tell. The store outlives every component, so this is done once. */
export function startNotifying(store: HostStore, timer: Timer): void {
  const notifier = new Notifier(timer, {isVisible, show: tell, close});
  const reasons = new Reasons(timer.now);
  effect(() => {
    const found = reasons.look(store.sessions.value, store.waiting.value);
    notifier.changed(wanted(found));
  });
  effect(() => badge(store.waiting.value.length));
  const told = (): void => {
    if (isVisible()) notifier.seen();
    store.core.tell('agenthost/visible', {visible: isVisible()});
  };
  document.addEventListener('visibilitychange', told);
  store.ups.add(told);
  // The host may have forgotten the subscription, or the browser may have made another one.
  store.ups.add(() => void renew(store));
  told();
  // Who asks for pushes is told why there is no worker for them.
  void installWorker().catch(() => undefined).then(() => renew(store));
  (navigator as {serviceWorker?: ServiceWorkerContainer}).serviceWorker?.addEventListener('message', event => follow(event.data));
}

// Where the host pushes, it tells; twice would be once too often.
async function tell(reason: Reason): Promise<void> {
  if (await isSubscribed()) return;
  await show(reason, notifySettings.peek().withText);
}

function wanted(found: ReadonlyMap<string, Reason>): ReadonlyMap<string, Reason> {
  const settings = notifySettings.value;
  if (!settings.isOn) return new Map();
  const kinds = kindsOf(settings);
  return new Map([...found].filter(([session, {kind}]) => kinds.includes(kind) && !muted.value.has(session)));
}

async function renew(store: HostStore): Promise<void> {
  // Also where they were turned on before the host was there to be asked.
  if (notifySettings.peek().isOn) await subscribe(store);
}

// Somebody opened a notification.
function follow(message: unknown): void {
  const {to} = (message ?? {}) as {to?: unknown};
  if (typeof to === 'string') go(parse(new URL(to, location.href)));
}
