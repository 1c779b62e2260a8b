/** Starting a session, with or without a first message. */
import {turnStarted, userMessage} from '../ahp/actions.ts';
import {LinkLost, type ModelSelection, type StateAction} from '../ahp/index.ts';
import {sessionUri} from '../ahp/uris.ts';
import type {Values} from '../forms/schema.ts';
import type {Act, Store} from '../store/index.ts';
import {chatOf} from '../store/session_chats.ts';
import {newId} from '../ui/ids.ts';
import {firstState} from './first_state.ts';

/** What a session is started with. */
export interface Start {
  readonly provider: string | undefined;
  readonly model: ModelSelection | undefined;
  readonly directory: string | undefined;
  readonly config: Values;
  readonly message: string;
}

/** A session that was started. */
export interface Started {
  readonly session: string;
  /** What becomes of the first message, if there is one. */
  readonly sent: Act | undefined;
}

/** Create the session, wait until it takes messages, and send the first one. */
export async function start(store: Store, given: Start): Promise<Started> {
  const session = sessionUri(newId());
  try {
    await store.ask('createSession', {
      channel: session,
      ...(given.provider === undefined ? {} : {provider: given.provider}),
      ...(given.directory === undefined ? {} : {workingDirectories: [given.directory]}),
      ...(Object.keys(given.config).length ? {config: given.config} : {}),
    });
  } catch (error) {
    // Only the answer may be lost. The name is ours, so whether the session exists tells.
    if (!(error instanceof LinkLost)) throw error;
  }
  const state = await firstState(store.session(session), known => known.lifecycle !== 'creating' && (known.lifecycle === 'failed' || chatOf(known) !== undefined));
  if (state.lifecycle === 'failed') throw new Error(state.creationError?.message ?? '');
  const chat = chatOf(state)!;
  const model = given.model === undefined ? {} : {model: given.model};
  if (given.message.trim()) {
    return {session, sent: store.act(chat, turnStarted(newId(), userMessage(given.message, model), new Date().toISOString()), 'new')};
  }
  // Without a message the model is remembered by the draft of the first one.
  if (given.model) store.act(chat, {type: 'chat/draftChanged', draft: userMessage('', model)} as StateAction, 'new');
  return {session, sent: undefined};
}
