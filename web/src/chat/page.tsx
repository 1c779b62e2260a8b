/** A chat: its header and tabs, its transcript, and the composer. */
import {Composer} from '../composer/composer.tsx';
import {useFollowed, useStore} from '../store/index.ts';
import {chatOf} from '../store/session_chats.ts';

export interface ChatPageProps {
  readonly session: string;
  /** Without it, the session's default chat. */
  readonly chat?: string | undefined;
  readonly turn?: string | undefined;
}

export function ChatPage({session, chat}: ChatPageProps) {
  const store = useStore();
  const followed = useFollowed(() => store.session(session), [session]);
  const shown = chatOf(followed.state.value, chat);
  return (
    <>
      <h1>{followed.state.value?.title}</h1>
      {shown && <Composer session={session} chat={shown} />}
    </>
  );
}
