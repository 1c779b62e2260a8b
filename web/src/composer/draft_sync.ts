/** Where a draft stands between the box, this device and the host (pure but for the timer that it is given). */
import type {Message, MessageAttachment, StateAction} from '../ahp/index.ts';
import {userMessage} from '../ahp/actions.ts';

/** How long one goes on typing before the host is told. */
export const SAVE_AFTER = 600;

/** What a box holds that was not sent yet. */
export interface Draft {
  readonly text: string;
  readonly attachments: readonly MessageAttachment[];
}

export const NO_DRAFT: Draft = {text: '', attachments: []};

/** What to do about the draft that the host has now: nothing, put it into the box, or offer it. */
export type Arrival = 'keep' | 'enter' | 'offer';

/** Runs something later; the answer takes that back. */
export type After = (ms: number, run: () => void) => () => void;

/** Tells the host something, and then whether it has taken that. */
export type Tell = (action: StateAction, taken: () => void) => void;

/** The draft of one chat, told to the host after a pause, and watched for changes from elsewhere. */
export class DraftSync {
  private box: Draft;
  // What the host was last seen to have, or told to have.
  private base: string;
  // What it had before it was last told something: it has that again if it did not take what it was told.
  private beforeTold: string | undefined;
  private touched = false;
  private cancel: (() => void) | undefined;
  private readonly after: After;
  private readonly send: Tell;
  private tellings = 0;

  constructor(box: Draft, host: Message | undefined, after: After, send: Tell) {
    this.box = box;
    this.base = keyOf(shared(draftOf(host)));
    this.after = after;
    this.send = send;
    // What this device kept is newer than what the host has: it was typed while there was no host, or just before.
    this.touched = !isEmpty(box) && keyOf(shared(box)) !== this.base;
    if (this.touched) this.later();
  }

  /** Take what was typed or attached. */
  edit(box: Draft): void {
    this.box = box;
    this.touched = true;
    this.later();
  }

  /** See what the host has, and say what that means for the box. */
  receive(host: Message | undefined, focused: boolean): Arrival {
    const now = keyOf(shared(draftOf(host)));
    if (now === this.base || now === this.beforeTold) return 'keep';
    this.beforeTold = undefined;
    const mine = keyOf(shared(this.box));
    const wasInStep = mine === this.base;
    this.base = now;
    if (now === mine) return 'keep';
    if (!this.touched || isEmpty(this.box)) return this.enter(draftOf(host));
    // Sent or cleared from another window, and nothing was added here since.
    if (wasInStep && !focused && !this.cancel) return this.enter(draftOf(host));
    return 'offer';
  }

  /** Take the host's draft into the box. */
  enter(draft: Draft): 'enter' {
    this.stop();
    this.box = draft;
    this.touched = false;
    return 'enter';
  }

  /** Forget the draft: it was sent. The save that waits must not bring it back. */
  sent(): void {
    this.stop();
    this.box = NO_DRAFT;
    this.touched = false;
    this.tell();
  }

  /** Tell the host again what it did not take, now that it can be reached. */
  again(host: Message | undefined): void {
    const now = keyOf(shared(draftOf(host)));
    if (this.beforeTold === undefined || now !== this.beforeTold) return;
    this.base = now;
    this.stop();
    this.tell();
  }

  /** Tell the host at once what waits to be told. */
  flush(): void {
    if (!this.cancel) return;
    this.stop();
    this.tell();
  }

  /** Send nothing more. */
  stop(): void {
    this.cancel?.();
    this.cancel = undefined;
  }

  private later(): void {
    this.stop();
    this.cancel = this.after(SAVE_AFTER, () => {
      this.cancel = undefined;
      this.tell();
    });
  }

  private tell(): void {
    const draft = shared(this.box);
    if (keyOf(draft) === this.base) return;
    this.beforeTold ??= this.base;
    this.base = keyOf(draft);
    const telling = ++this.tellings;
    this.send(isEmpty(draft) ? {type: 'chat/draftChanged'} : {type: 'chat/draftChanged', draft: messageOf(draft)}, () => {
      if (telling === this.tellings) this.beforeTold = undefined;
    });
  }
}

/** The draft in a host's message. */
export const draftOf = (message: Message | undefined): Draft =>
  message ? {text: message.text, attachments: message.attachments ?? []} : NO_DRAFT;

export const isEmpty = (draft: Draft): boolean => !draft.text && !draft.attachments.length;

/** What of a draft the host is told: pictures would be sent anew at every pause, so they stay on this device. */
export function shared(draft: Draft): Draft {
  return {text: draft.text, attachments: draft.attachments.filter(attachment => attachment.type !== 'embeddedResource')};
}

const messageOf = (draft: Draft): Message => userMessage(draft.text, {attachments: draft.attachments}) as Message;
const keyOf = (draft: Draft): string => (isEmpty(draft) ? '' : JSON.stringify([draft.text, draft.attachments]));
