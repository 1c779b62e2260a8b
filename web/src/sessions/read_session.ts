/** Marking the session that somebody looks at as read, and leaving one unread that somebody marked so. */
import {effect, untracked} from '@preact/signals';
import {useEffect} from 'preact/hooks';
import type {StateAction} from '../ahp/index.ts';
import {IS_READ} from '../ahp/status.ts';
import {type Act, type Store, useStore} from '../store/index.ts';

// Sessions that were marked as unread while they were open; that holds until they are left.
const keptUnread = new Set<string>();

/** Mark a session as read or unread. */
export function markRead(store: Store, session: string, isRead: boolean): Act {
  if (isRead) keptUnread.delete(session);
  else keptUnread.add(session);
  return store.act(session, {type: 'session/isReadChanged', isRead} as StateAction, `read:${session}`);
}

/** Mark a session as read while it is shown and the page can be seen. */
export function useReadSession(session: string): void {
  const store = useStore();
  useEffect(() => {
    let wasUnread = false;
    const mark = (): void => {
      if (wasUnread && !keptUnread.has(session) && document.visibilityState === 'visible') markRead(store, session, true);
    };
    const stop = effect(() => {
      const summary = store.sessions.value.find(one => one.resource === session);
      const isUnread = summary !== undefined && (summary.status & IS_READ) === 0 && store.live.value === 'live';
      // Once per time that it becomes unread: the answer takes a while, and other sessions change meanwhile.
      const became = isUnread && !wasUnread;
      wasUnread = isUnread;
      if (became) untracked(mark);
    });
    document.addEventListener('visibilitychange', mark);
    return () => {
      stop();
      keptUnread.delete(session);
      document.removeEventListener('visibilitychange', mark);
    };
  }, [store, session]);
}
