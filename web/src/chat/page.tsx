/** A chat: its header and tabs, its transcript, and the composer. */
import './chat.css';
import {useEffect} from 'preact/hooks';
import {IS_READ} from '../ahp/status.ts';
import type {StateAction} from '../ahp/index.ts';
import {Composer} from '../composer/composer.tsx';
import {type FollowedChat, type Store, useFollowed, useStore} from '../store/index.ts';
import {chatOf} from '../store/session_chats.ts';
import {Skeleton} from '../ui/skeleton.tsx';
import {words} from '../words/index.ts';
import {FIRST_TURNS, Transcript} from './transcript.tsx';

export interface ChatPageProps {
  readonly session: string;
  /** Without it, the session's default chat. */
  readonly chat?: string | undefined;
  readonly turn?: string | undefined;
}

export function ChatPage({session, chat, turn}: ChatPageProps) {
  const store = useStore();
  const followed = useFollowed(() => store.session(session), [session]);
  const shown = chatOf(followed.state.value, chat);
  const gone = followed.gone.value;
  return (
    <div class="chat">
      <header class="chat-header"><h1>{followed.state.value?.title}</h1></header>
      {gone !== undefined && <p class="chat-empty" role="alert">{words.chat.sessionGone(gone)}</p>}
      {shown ? <ChatBody key={shown} session={session} chat={shown} turn={turn} /> : gone === undefined && <Skeleton lines={6} />}
    </div>
  );
}

function ChatBody({session, chat, turn}: {session: string; chat: string; turn?: string | undefined}) {
  const store = useStore();
  const followed = useFollowed(() => store.chat(chat, FIRST_TURNS), [chat]);
  useMarkRead(store, chat, followed);
  return (
    <>
      <Transcript at={{session, chat}} followed={followed} turn={turn} />
      <Composer session={session} chat={chat} />
    </>
  );
}

/** Tell the host that a chat is read, while somebody can see it. */
function useMarkRead(store: Store, chat: string, followed: FollowedChat): void {
  const status = followed.state.value?.status;
  const isUnread = status !== undefined && (status & IS_READ) === 0 && store.live.value === 'live' && followed.phase.value === 'live';
  useEffect(() => {
    if (!isUnread) return undefined;
    const mark = (): void => {
      if (document.visibilityState === 'visible') store.act(chat, {type: 'chat/isReadChanged', isRead: true} as StateAction);
    };
    mark();
    document.addEventListener('visibilitychange', mark);
    return () => document.removeEventListener('visibilitychange', mark);
  }, [chat, isUnread]);
}
