/** Opening the page's store: the token, this tab's identity, what was kept, and a link to the host. */
import type {InitializeParams, Timer} from '../ahp/index.ts';
import {askAdmission} from '../link/admission.ts';
import {browserSockets} from '../link/socket.ts';
import {Tap} from '../link/tap.ts';
import {Archive} from './archive.ts';
import {takeClientId} from './client_id.ts';
import {remember, remembered, rememberedJson} from './device.ts';
import {forgetAll, onSignedOutElsewhere} from './forget.ts';
import {windowFrames} from './frame.ts';
import {HostStore} from './host_store.ts';
import type {Me} from './index.ts';
import {kept} from './kept.ts';

const timer: Timer = {
  now: () => Date.now(),
  after: (ms, run) => {
    const id = setTimeout(run, ms);
    return () => clearTimeout(id);
  },
};

/** The last frames that went over the wire. */
export const tap = new Tap(timer.now);

const token = (): string | undefined => remembered('token');

/** The store of this page, which connects by itself. */
export function openStore(): HostStore {
  const me = rememberedJson('me') as Me | undefined;
  const archive = new Archive(kept, timer);
  const store: HostStore = new HostStore({
    clientId: takeClientId(),
    timer,
    schedule: windowFrames().schedule,
    introduce,
    forgetAll: () => forgetAll(store),
    archive,
    ...(me ? {me} : {}),
    world: {
      open: browserSockets(token),
      timer,
      tap,
      roll: Math.random,
      admission: () => askAdmission(token(), location.origin),
      isOnline: () => navigator.onLine,
      isVisible: () => document.visibilityState === 'visible',
    },
  });
  // Whose it is has to be known before anything is kept for somebody else.
  store.me.subscribe(now => now && store.live.peek() === 'live' && remember('me', JSON.stringify(now)));
  onSignedOutElsewhere(() => store.leave());
  listen(store, archive);
  store.start();
  // Not needed for the first thing on the screen.
  void import('../notify/start.ts').then(({startNotifying}) => startNotifying(store, timer));
  void import('../sw/updates.ts').then(({watchUpdates}) => watchUpdates(store));
  return store;
}

function introduce(): InitializeParams {
  const title = remembered('name');
  return {
    channel: 'ahp-root://',
    clientId: '',
    protocolVersions: ['1.0.0'],
    clientInfo: {name: 'agenthost-page', ...(title ? {title} : {})},
    locale: navigator.language,
  };
}

// What tells that the wire may be dead, or that it may come back.
function listen(store: HostStore, archive: Archive): void {
  const wake = (): void => store.link.wake();
  window.addEventListener('online', wake);
  window.addEventListener('offline', () => store.link.wentOffline());
  window.addEventListener('pageshow', wake);
  document.addEventListener('visibilitychange', () => {
    // A page that is left may never be told more than this.
    if (document.visibilityState === 'visible') wake();
    else void archive.flush();
  });
}
