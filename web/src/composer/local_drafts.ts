/** Drafts on this device: written on every key, but for the large ones, which wait for a pause. */
import {clearDraft, readDraft, saveDraft} from '../store/drafts.ts';
import {type Draft, NO_DRAFT, SAVE_AFTER, isEmpty} from './draft_sync.ts';

/** The draft that this device keeps of a chat; none if what is kept is no draft. */
export async function keptDraft(chat: string): Promise<Draft> {
  const kept = (await attempt(() => readDraft(chat))) as Partial<Draft> | undefined;
  return typeof kept?.text === 'string' && Array.isArray(kept.attachments) ? {text: kept.text, attachments: kept.attachments} : NO_DRAFT;
}

/** Characters that are too many to be written with every key. */
const MUCH = 100_000;

/** Keeps the draft of one chat on this device. */
export class LocalDraft {
  private readonly chat: string;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(chat: string) {
    this.chat = chat;
  }

  keep(draft: Draft): void {
    clearTimeout(this.timer);
    const isHeavy = draft.text.length > MUCH || draft.attachments.some(attachment => attachment.type === 'embeddedResource');
    if (isHeavy) this.timer = setTimeout(() => void this.write(draft), SAVE_AFTER);
    else void this.write(draft);
  }

  private write(draft: Draft): Promise<unknown> {
    return attempt(() => (isEmpty(draft) ? clearDraft(this.chat) : saveDraft(this.chat, draft)));
  }
}

/** What a store says; nothing from a browser that forbids storage, and forgets with the page. */
async function attempt<T>(ask: () => Promise<T> | T): Promise<T | undefined> {
  try {
    return await ask();
  } catch {
    return undefined;
  }
}
