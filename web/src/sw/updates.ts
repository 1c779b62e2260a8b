/** Notices that the host serves another page than the one that is open. */
import {hostMembers} from '../ahp/own.ts';
import type {HostStore} from '../store/host_store.ts';
import {toast} from '../ui/toast.tsx';
import {words} from '../words/index.ts';

// The longest that a timer takes: the message stays.
const FOR_EVER = 2 ** 31 - 1;

let isTold = false;

function tell(): void {
  if (isTold) return;
  isTold = true;
  toast(words.link.updated, {action: {words: words.link.reload, run: () => location.reload()}, ms: FOR_EVER});
}

/** Offer to reload once the host was updated: by what it says of itself, or by a new service worker that takes over. */
export function watchUpdates(store: HostStore): void {
  const workers = (navigator as {serviceWorker?: ServiceWorkerContainer}).serviceWorker;
  let build: string | undefined;
  const look = (): void => {
    const now = hostMembers(store.core.host).page;
    if (build !== undefined && now !== undefined && now !== build) tell();
    build ??= now;
    void workers?.getRegistration().then(registration => registration?.update()).catch(() => {});
  };
  store.ups.add(look);
  look();
  // The first one takes over a page that is as new as itself.
  if (workers?.controller) workers.addEventListener('controllerchange', tell);
}
