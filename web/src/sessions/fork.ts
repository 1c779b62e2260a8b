/** Continuing from a turn elsewhere: in a new session, or in a new chat of the same one. */
import {chatUri, sessionUri} from '../ahp/uris.ts';
import {chatOf} from '../store/session_chats.ts';
import type {Store} from '../store/index.ts';
import {newId} from '../ui/ids.ts';
import {firstState} from './first_state.ts';

/** Make a session that continues another one after one of its turns; gives its URI. */
export async function forkSession(store: Store, session: string, turnId: string): Promise<string> {
  const channel = sessionUri(newId());
  await store.ask('createSession', {channel, _meta: {'agenthost/fork': {session, turnId}}});
  return channel;
}

/** Make a chat that continues another one after one of its turns; gives its URI. */
export async function forkChat(store: Store, session: string, chat: string, turnId: string): Promise<string> {
  const made = chatUri(session, newId());
  await store.ask('createChat', {channel: session, chat: made, source: {kind: 'fork', chat, turnId}});
  return made;
}

/** The newest turn of a session's default chat that is over; undefined if there is none. */
export async function lastTurn(store: Store, session: string): Promise<string | undefined> {
  const state = await firstState(store.session(session));
  const chat = chatOf(state);
  if (chat === undefined) return undefined;
  return (await firstState(store.chat(chat, 1))).turns.at(-1)?.id;
}
