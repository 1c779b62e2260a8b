/** A chat: its header and tabs, its transcript, and the composer. */
import './chat.css';
import {effect, untracked, useComputed} from '@preact/signals';
import {useEffect, useRef} from 'preact/hooks';
import type {ChatState, SessionState, StateAction} from '../ahp/index.ts';
import {IS_READ} from '../ahp/status.ts';
import {Composer} from '../composer/composer.tsx';
import {useReadSession} from '../sessions/read_session.ts';
import {type FollowedChat, type Store, useFollowed, useStore} from '../store/index.ts';
import {chatOf} from '../store/session_chats.ts';
import {announce} from '../ui/announce.tsx';
import {visible} from '../ui/safe.tsx';
import {Skeleton} from '../ui/skeleton.tsx';
import {words} from '../words/index.ts';
import {Header} from './header.tsx';
import {answerOf} from './parts/turn_end.tsx';
import {Tabs} from './tabs.tsx';
import {FIRST_TURNS, Transcript} from './transcript.tsx';
import {usedModel} from './usage.ts';

export interface ChatPageProps {
  readonly session: string;
  /** Without it, the session's default chat. */
  readonly chat?: string | undefined;
  readonly turn?: string | undefined;
}

export function ChatPage({session, chat, turn}: ChatPageProps) {
  const store = useStore();
  const followed = useFollowed(() => store.session(session), [session]);
  useReadSession(session);
  const state = followed.state.value;
  const shown = chatOf(state, chat);
  const gone = followed.gone.value;
  return (
    <div class="chat">
      {shown ? <ChatBody key={shown} session={session} chat={shown} turn={turn} state={state} /> : <Header session={session} state={state} model={undefined} />}
      {gone !== undefined && <p class="chat-empty" role="alert">{words.chat.sessionGone(gone)}</p>}
      {!shown && gone === undefined && <Skeleton lines={6} />}
    </div>
  );
}

function ChatBody({session, chat, turn, state}: {session: string; chat: string; turn: string | undefined; state: SessionState | undefined}) {
  const store = useStore();
  const followed = useFollowed(() => store.chat(chat, FIRST_TURNS), [chat]);
  // Not the whole chat: text that streams is to draw its own row only.
  const model = useComputed(() => usedModel(followed.state.value));
  const isKnown = useComputed(() => followed.state.value !== undefined);
  useMarkRead(store, chat, followed);
  useTold(followed);
  return (
    <>
      <Header session={session} state={state} model={model.value} />
      {state && <Tabs session={session} state={state} shown={chat} />}
      {state?.lifecycle === 'creating' && <p class="chat-note" role="status">{words.chat.creating}</p>}
      {state?.lifecycle === 'failed' && <p class="chat-failed" role="alert">{words.chat.creationFailed} {visible(state.creationError?.message ?? '')}</p>}
      {isKnown.value && followed.gone.value !== undefined && <p class="chat-failed" role="alert">{words.chat.gone(visible(followed.gone.value))}</p>}
      <Transcript at={{session, chat}} followed={followed} turn={turn} />
      <Composer session={session} chat={chat} />
    </>
  );
}

/** Tell the host that a chat is read, while somebody can see it. */
function useMarkRead(store: Store, chat: string, followed: FollowedChat): void {
  useEffect(() => {
    const isUnread = (): boolean => ((followed.state.value?.status ?? IS_READ) & IS_READ) === 0 && followed.phase.value === 'live' && store.live.value === 'live';
    let wasUnread = false;
    const mark = (): void => {
      if (wasUnread && document.visibilityState === 'visible') store.act(chat, {type: 'chat/isReadChanged', isRead: true} as StateAction);
    };
    const stop = effect(() => {
      const isNow = isUnread();
      const changed = isNow && !wasUnread;
      wasUnread = isNow;
      if (changed) untracked(mark);
    });
    document.addEventListener('visibilitychange', mark);
    return () => {
      stop();
      document.removeEventListener('visibilitychange', mark);
    };
  }, [chat, followed]);
}

/** Say to those who cannot see it that work began, and what came of it. */
function useTold(followed: FollowedChat): void {
  const active = useRef<string | undefined>(undefined);
  useEffect(() => {
    const stop = effect(() => {
      const chat = followed.state.value;
      if (!chat) return;
      const before = active.current;
      active.current = chat.activeTurn?.id;
      if (before === active.current) return;
      if (active.current !== undefined) announce(words.chat.working);
      else if (before !== undefined) announce(endWords(chat, before));
    });
    return stop;
  }, [followed]);
}

function endWords(chat: ChatState, id: string): string {
  const turn = chat.turns.findLast(each => each.id === id);
  if (turn?.state === 'error') return words.chat.failed;
  if (turn?.state === 'cancelled') return words.chat.stopped;
  const sentence = turn ? /^[^\n]*?[.!?](?=\s|$)|^[^\n]*/.exec(answerOf(turn).replace(/[*_`#>]/g, ''))?.[0] ?? '' : '';
  return words.chat.finished(visible(sentence.trim().slice(0, 200)));
}
