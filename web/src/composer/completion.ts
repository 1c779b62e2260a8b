/** Completions of a message in the making: when to ask, and what an accepted one does to the text (pure). */
import type {CompletionItem, MessageAttachment} from '../ahp/index.ts';

/** Longer words are none that anybody completes. */
const LONGEST_WORD = 200;

/** The word that is being completed, by its place in the text (UTF-16 code units). */
export interface Completed {
  readonly start: number;
  readonly word: string;
}

/** The word at the cursor if it begins with a trigger; `/` counts at the very beginning alone. */
export function completedAt(text: string, offset: number, triggers: readonly string[]): Completed | undefined {
  const before = text.slice(Math.max(0, offset - LONGEST_WORD - 1), offset);
  const word = /\S*$/.exec(before)?.[0] ?? '';
  const start = offset - word.length;
  if (!word || word.length > LONGEST_WORD || !triggers.includes(word[0]!)) return undefined;
  return word.startsWith('/') && start !== 0 ? undefined : {start, word};
}

/** The text with an item in it, and where the cursor is then. */
export function inserted(text: string, offset: number, item: CompletionItem): {text: string; cursor: number} {
  const start = clamp(item.rangeStart ?? offset, 0, text.length);
  const end = clamp(item.rangeEnd ?? offset, start, text.length);
  // One space is enough.
  const tail = item.insertText.endsWith(' ') && text[end] === ' ' ? text.slice(end + 1) : text.slice(end);
  return {text: text.slice(0, start) + item.insertText + tail, cursor: start + item.insertText.length};
}

/** What an accepted item attaches; a command is in the text already and attaches nothing. */
export function attachmentOf(item: CompletionItem): MessageAttachment | undefined {
  return item.attachment.type === 'simple' && !('modelRepresentation' in item.attachment) ? undefined : item.attachment;
}

/** What a list of completions says beside an item's name. */
export function describedBy(item: CompletionItem): {label: string; hint: string; description: string} {
  const meta = item.attachment._meta ?? {};
  const said = (name: string): string => (typeof meta[name] === 'string' ? (meta[name] as string) : '');
  const description = said('description') || said('path');
  return {label: item.attachment.label, hint: said('argumentHint'), description: description === item.attachment.label ? '' : description};
}

const clamp = (n: number, low: number, high: number): number => Math.max(low, Math.min(high, n));
