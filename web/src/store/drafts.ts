/** What was typed and not sent, kept by this browser on every key: by chat, or by the name of a form. */
import {kept} from './kept.ts';

const name = (of: string): string => `draft ${of}`;

/** What was kept of a draft, if anything. */
export const readDraft = (of: string): Promise<unknown> => kept.get(name(of));

export const saveDraft = (of: string, draft: unknown): Promise<void> => kept.set(name(of), draft);

export const clearDraft = (of: string): Promise<void> => kept.del(name(of));
