/** What can be done with whole chats: make, fork, move, dispose. What fails is told in a message. */
import type {ChatSource} from '../ahp/index.ts';
import {chatUri, sessionUri} from '../ahp/uris.ts';
import {go} from '../route.ts';
import type {Store} from '../store/index.ts';
import {newId} from '../ui/ids.ts';
import type {ChatRef} from '../ui/registry.tsx';
import {toast} from '../ui/toast.tsx';
import {words} from '../words/index.ts';

/** Do something, and say why if it fails; whether it went well. */
async function told(work: () => Promise<unknown>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    toast(words.chat.couldNot(error instanceof Error ? error.message : String(error)));
    return false;
  }
}

/** Make a chat and go there; a source makes it continue another one. */
export async function newChat(store: Store, session: string, source?: ChatSource): Promise<void> {
  const chat = chatUri(session, newId());
  const isMade = await told(() => store.ask('createChat', {channel: session, chat, ...(source ? {source} : {})}));
  if (isMade) go({at: 'session', session, chat});
}

/** A chat that continues this one after a turn. */
export const forkChat = (store: Store, at: ChatRef, turnId: string): Promise<void> => newChat(store, at.session, {kind: 'fork', chat: at.chat, turnId});

/** A session that continues this one after a turn of its default chat. */
export async function forkSession(store: Store, session: string, turnId: string): Promise<void> {
  const channel = sessionUri(newId());
  const isMade = await told(() => store.ask('createSession', {channel, _meta: {'agenthost/fork': {session, turnId}}}));
  if (isMade) go({at: 'session', session: channel});
}

/** Put a chat behind another one of its session; null is the front. */
export async function placeChat(store: Store, at: ChatRef, after: string | null): Promise<void> {
  const destination = {kind: 'session' as const, session: at.session, ...(after === null ? {} : {after})};
  await told(() => store.ask('moveChat', {channel: at.chat, destination}));
}

/** Give a chat a session of its own, and go there. */
export async function moveChatOut(store: Store, chat: string): Promise<void> {
  await told(async () => {
    const {session} = await store.ask('moveChat', {channel: chat, destination: {kind: 'newSession'}});
    go({at: 'session', session});
  });
}

/** Dispose a chat; the session's default one is shown instead. */
export async function disposeChat(store: Store, at: ChatRef): Promise<void> {
  const isGone = await told(() => store.ask('disposeChat', {channel: at.chat}));
  if (isGone) go({at: 'session', session: at.session}, {replace: true});
}
