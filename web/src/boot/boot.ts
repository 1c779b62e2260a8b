/** Makes the store: the token, this tab's identity, what was kept, and a link to the host. */
import type {InitializeParams, Timer} from '../ahp/index.ts';
import {askAdmission} from '../link/admission.ts';
import {browserSockets} from '../link/socket.ts';
import {Tap} from '../link/tap.ts';
import {clientId} from '../store/client_id.ts';
import {device} from '../store/device.ts';
import {windowFrames} from '../store/frame.ts';
import {HostStore} from '../store/host_store.ts';
import type {Me} from '../store/index.ts';
import {takeToken} from './token.ts';

const timer: Timer = {
  now: () => Date.now(),
  after: (ms, run) => {
    const id = setTimeout(run, ms);
    return () => clearTimeout(id);
  },
};

/** The last frames that went over the wire. */
export const tap = new Tap(timer.now);

/** Make the store and start to connect. The token leaves the address bar before anything else happens. */
export async function boot(): Promise<HostStore> {
  takeToken();
  const token = (): string | undefined => device.get('token');
  const me = device.json('me') as Me | undefined;
  const frames = windowFrames();
  const store = new HostStore({
    clientId: await clientId(),
    timer,
    schedule: frames.schedule,
    introduce,
    ...(me ? {me} : {}),
    world: {
      open: browserSockets(token),
      timer,
      tap,
      roll: Math.random,
      admission: () => askAdmission(token()),
      isOnline: () => navigator.onLine,
      isVisible: () => document.visibilityState === 'visible',
    },
  });
  listen(store);
  store.start();
  return store;
}

function introduce(): InitializeParams {
  return {
    channel: 'ahp-root://',
    clientId: '',
    protocolVersions: ['1.0.0'],
    clientInfo: {name: 'agenthost-web', title: 'agenthost page'},
    locale: navigator.language,
  };
}

// What tells that the wire may be dead, or that it may come back.
function listen(store: HostStore): void {
  const wake = (): void => store.link.wake();
  window.addEventListener('online', wake);
  window.addEventListener('offline', () => store.link.wentOffline());
  window.addEventListener('pageshow', wake);
  document.addEventListener('visibilitychange', () => document.visibilityState === 'visible' && wake());
}
