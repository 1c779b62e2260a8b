/** Disposing of a session, with eight seconds in which that can be undone. */
import {signal} from '@preact/signals';
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

/** Dispose of a session: it is held back until nobody undid it, because not every host keeps what is disposed of. */
export function dispose(store: Store, session: string): void {
  hide(session);
  const at = route.peek();
  if (at.at === 'session' && at.session === session) go({at: 'list'}, {replace: true});
  toast(words.sessions.disposed, {
    undo: () => unhide(session),
    // A tab that is closed before keeps the session.
    onEnd: () => void store.ask('disposeSession', {channel: session}).catch(error => failed(session, error)),
  });
}

function failed(session: string, error: unknown): void {
  unhide(session);
  toast(refusal(error));
}
