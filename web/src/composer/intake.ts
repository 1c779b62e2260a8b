/** The way into a composer from elsewhere on the page: a message to be written anew, or the cursor. */
import type {Message} from '../ahp/index.ts';
import {type Draft, draftOf} from './draft_sync.ts';

/** What an open composer takes. */
export interface Intake {
  /** Put a draft into the box, in place of what is there. */
  fill(draft: Draft): void;
  focus(): void;
}

const open = new Map<string, Intake>();

/** Tell that a chat's composer is open; gives what takes that back. */
export function openIntake(chat: string, intake: Intake): () => void {
  open.set(chat, intake);
  return () => {
    if (open.get(chat) === intake) open.delete(chat);
  };
}

/** Put a message into a chat's composer, to be changed and sent again; whether its composer is open. */
export function putIntoComposer(chat: string, message: Message): boolean {
  const intake = open.get(chat);
  intake?.fill(draftOf(message));
  intake?.focus();
  return intake !== undefined;
}

/** Put the cursor into a chat's composer. */
export function focusComposer(chat: string): void {
  open.get(chat)?.focus();
}
