/** Disposing of a session, with eight seconds in which that can be undone. */
import {effect, signal} from '@preact/signals';
import {go, route} from '../route.ts';
import type {Store} from '../store/index.ts';
import {toast} from '../ui/toast.tsx';
import {words} from '../words/index.ts';
import {letThrough} from './own_changes.ts';
import {refusal} from './refusal.ts';

/** Sessions that are being disposed of, which the list no longer shows. */
export const hidden = signal<ReadonlySet<string>>(new Set());

function hide(session: string): void {
  letThrough();
  hidden.value = new Set([...hidden.peek(), session]);
}

function unhide(session: string): void {
  letThrough();
  hidden.value = new Set([...hidden.peek()].filter(other => other !== session));
}

/** Dispose of a session: an owner can take it back from the host's trash, for anybody else it is held back until nobody undid it. */
export function dispose(store: Store, session: string): void {
  hide(session);
  const at = route.peek();
  if (at.at === 'session' && at.session === session) go({at: 'list'}, {replace: true});
  if (store.me.peek()?.role === 'owner') disposeNow(store, session);
  else disposeLater(store, session);
}

function disposeNow(store: Store, session: string): void {
  const disposed = store.ask('disposeSession', {channel: session});
  const undo = (): void => {
    const restored = disposed.then(() => store.ask('agenthost/restoreSession', {channel: session}));
    restored.then(() => whenListed(store, session, () => unhide(session)), error => failed(session, error));
  };
  disposed.then(() => toast(words.sessions.disposed, {undo}), error => failed(session, error));
}

// The list learns of a session that is back a little later than who asked for it.
function whenListed(store: Store, session: string, run: () => void): void {
  const stop = effect(() => {
    if (!store.sessions.value.some(one => one.resource === session)) return;
    queueMicrotask(() => {
      stop();
      run();
    });
  });
}

// The tab that is closed meanwhile keeps the session.
function disposeLater(store: Store, session: string): void {
  toast(words.sessions.disposed, {
    undo: () => unhide(session),
    onEnd: () => void store.ask('disposeSession', {channel: session}).catch(error => failed(session, error)),
  });
}

function failed(session: string, error: unknown): void {
  unhide(session);
  toast(refusal(error));
}
