/** What can be done with a session from its row. */
import {Archive, ArchiveRestore, Bell, BellOff, GitFork, Mail, MailOpen, Pencil, Trash2} from 'lucide';
import type {StateAction} from '../ahp/index.ts';
import {go} from '../route.ts';
import {type Store, useStore} from '../store/index.ts';
import {useWhyNot} from '../ui/may_act.ts';
import {Menu, type MenuItem} from '../ui/popover.tsx';
import {toast} from '../ui/toast.tsx';
import {words} from '../words/index.ts';
import {dispose} from './dispose.ts';
import {forkSession, lastTurn} from './fork.ts';
import type {Row} from './list_model.ts';
import {mute} from './muted.ts';
import {letThrough} from './own_changes.ts';
import {markRead} from './read_session.ts';
import {refusal} from './refusal.ts';
import {tellOutcome} from './tell_outcome.ts';

export interface RowMenuProps {
  readonly row: Row;
  readonly title: string;
  readonly anchor: {readonly current: HTMLElement | null};
  readonly onClose: () => void;
  readonly onRename: () => void;
}

/** Put a session among the archived ones, or take it back. */
export function archive(store: Store, session: string, isArchived: boolean): void {
  letThrough();
  tellOutcome(store.act(session, {type: 'session/isArchivedChanged', isArchived} as StateAction, `archive:${session}`));
}

async function fork(store: Store, session: string): Promise<void> {
  try {
    const turn = await lastTurn(store, session);
    if (turn === undefined) {
      toast(words.sessions.nothingToFork);
      return;
    }
    letThrough();
    go({at: 'session', session: await forkSession(store, session, turn)});
  } catch (error) {
    toast(refusal(error));
  }
}

/** The menu of a row. */
export function RowMenu({row, title, anchor, onClose, onRename}: RowMenuProps) {
  const store = useStore();
  const whyNot = useWhyNot();
  // What one has read, a viewer may say too.
  const whyNotRead = store.live.value === 'live' ? undefined : whyNot;
  const read = (isRead: boolean): void => {
    letThrough();
    tellOutcome(markRead(store, row.uri, isRead));
  };
  const items: MenuItem[] = [
    {id: 'rename', words: words.sessions.rename, icon: Pencil, whyNot, run: onRename},
    row.archived
      ? {id: 'archive', words: words.sessions.unarchive, icon: ArchiveRestore, whyNot, run: () => archive(store, row.uri, false)}
      : {id: 'archive', words: words.sessions.archive, icon: Archive, whyNot, run: () => archive(store, row.uri, true)},
    row.unread
      ? {id: 'read', words: words.sessions.markRead, icon: MailOpen, whyNot: whyNotRead, run: () => read(true)}
      : {id: 'read', words: words.sessions.markUnread, icon: Mail, whyNot: whyNotRead, run: () => read(false)},
    {
      id: 'mute',
      words: row.muted ? words.sessions.unmute : words.sessions.mute,
      icon: row.muted ? Bell : BellOff,
      run: () => mute(row.uri, !row.muted),
    },
    {id: 'fork', words: words.sessions.fork, icon: GitFork, whyNot, run: () => void fork(store, row.uri)},
    {
      id: 'dispose',
      words: words.sessions.dispose,
      icon: Trash2,
      isDanger: true,
      whyNot,
      run: () => dispose(store, row.uri),
    },
  ];
  return <Menu anchor={anchor} label={words.sessions.menu(title)} items={items} placement="bottom-end" onClose={onClose} />;
}
