/// <reference lib="webworker" />
/**
 * The service worker: the page's files for when there is no host, and pushes.
 *
 * Its text names all files of the first load, so another build of the page is another worker: it
 * fetches what is new, takes over, and the open pages are told.
 */
import type {PushMessage} from '../ahp/own.ts';
import {shown} from '../notify/show.ts';
import {answer} from './fetching.ts';

const worker = self as unknown as ServiceWorkerGlobalScope;

/** Put in by the build: the files of the first load, and a name for this build. */
declare const PRECACHE: readonly string[];
declare const BUILD: string;

const CACHE = `agenthost-${BUILD}`;
const LOOPBACK = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\]|.*\.localhost)$/;

worker.addEventListener('install', event => {
  event.waitUntil(install());
});

async function install(): Promise<void> {
  const files = await caches.open(CACHE);
  await files.addAll(PRECACHE.map(url => new Request(url, {cache: 'no-cache'})));
  await worker.skipWaiting();
}

worker.addEventListener('activate', event => {
  event.waitUntil(activate());
});

async function activate(): Promise<void> {
  const others = (await caches.keys()).filter(name => name.startsWith('agenthost-') && name !== CACHE);
  await Promise.all(others.map(name => caches.delete(name)));
  await worker.clients.claim();
}

worker.addEventListener('fetch', event => {
  const answered = answer(event.request, {
    origin: worker.location.origin,
    isLoopback: LOOPBACK.test(worker.location.hostname),
    files: () => caches.open(CACHE),
    fetch: request => fetch(request),
  });
  if (answered) event.respondWith(answered);
});

worker.addEventListener('push', event => {
  const message = messageOf(event.data);
  if (message) event.waitUntil(pushed(message));
});

function messageOf(data: PushMessageData | null): PushMessage | undefined {
  try {
    const message = data?.json() as PushMessage | undefined;
    return typeof message?.session === 'string' && typeof message.kind === 'string' ? message : undefined;
  } catch {
    return undefined;
  }
}

async function pushed(message: PushMessage): Promise<void> {
  if (message.kind === 'withdraw') {
    for (const notification of await worker.registration.getNotifications({tag: message.session})) notification.close();
    return;
  }
  const windows = await worker.clients.matchAll({type: 'window'});
  // Who looks at the page sees it there.
  if (windows.some(window => window.visibilityState === 'visible')) return;
  const {title, options} = shown({...message, kind: message.kind});
  await worker.registration.showNotification(title, options);
}

worker.addEventListener('notificationclick', event => {
  event.notification.close();
  const {to} = (event.notification.data ?? {}) as {to?: unknown};
  event.waitUntil(open(typeof to === 'string' ? to : '/'));
});

async function open(to: string): Promise<void> {
  const [window] = await worker.clients.matchAll({type: 'window'});
  if (!window) {
    await worker.clients.openWindow(to);
    return;
  }
  window.postMessage({to});
  await window.focus();
}
