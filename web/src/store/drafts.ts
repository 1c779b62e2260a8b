/** Drafts of messages that this browser keeps, by chat. */
import {createStore, del, get, set} from 'idb-keyval';

let opened: ReturnType<typeof createStore> | undefined;
const drafts = (): ReturnType<typeof createStore> => (opened ??= createStore('agenthost-drafts', 'drafts'));

/** What was kept of a chat's draft, if anything. */
export const readDraft = (chat: string): Promise<unknown> => get(chat, drafts());

export const saveDraft = (chat: string, draft: unknown): Promise<void> => set(chat, draft, drafts());

export const clearDraft = (chat: string): Promise<void> => del(chat, drafts());
