/** The draft of an open composer: kept in the box itself, on this device, and at the host. */
import {type Signal, signal, effect} from '@preact/signals';
import {useEffect, useMemo} from 'preact/hooks';
import type {ChatState, MessageAttachment, StateAction} from '../ahp/index.ts';
import {type Followed, type Store, useStore} from '../store/index.ts';
import {takingAttached} from '../workspace/notes/attach.ts';
import {type Draft, DraftSync, NO_DRAFT, draftOf, isEmpty} from './draft_sync.ts';
import {LocalDraft, keptDraft} from './local_drafts.ts';
import {stillAttached} from './message.ts';
import {whenTaken} from './when_taken.ts';

const after = (ms: number, run: () => void): (() => void) => {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
};

/** What a box is about to say. The text lives in the field alone, so that a key costs no drawing. */
export class OpenDraft {
  /** The field; set while it is shown. */
  field: HTMLTextAreaElement | null = null;
  readonly attachments: Signal<readonly MessageAttachment[]> = signal([]);
  /** Whether there is anything to send. */
  readonly isEmpty = signal(true);
  /** Whether the text is for a terminal. */
  readonly startsWith = signal('');
  /** A draft from another window, which waits to be used. */
  readonly offered = signal<Draft | undefined>(undefined);
  private readonly local: LocalDraft;
  private readonly store: Store;
  private readonly chat: string;
  private sync: DraftSync | undefined;
  private isTyped = false;

  constructor(store: Store, chat: string) {
    this.store = store;
    this.chat = chat;
    this.local = new LocalDraft(chat);
  }

  get draft(): Draft {
    return {text: this.field?.value ?? '', attachments: this.attachments.peek()};
  }

  /** Begin with what this device kept, else with what the host has. Typing does not wait for it. */
  async open({state, phase}: Followed<ChatState>): Promise<() => void> {
    const kept = await keptDraft(this.chat);
    if (!this.isTyped && !isEmpty(kept)) this.show(kept);
    const stopFollowing = effect(() => this.follow(state.value));
    const stopRetrying = effect(() => {
      if (phase.value === 'live' && this.store.live.value === 'live') this.sync?.again(state.peek()?.draft);
    });
    return () => {
      stopFollowing();
      stopRetrying();
    };
  }

  private tell(action: StateAction, taken: () => void): void {
    // What is not told now is told when the host is back.
    if (this.store.live.peek() === 'live') whenTaken(this.store.act(this.chat, action), taken);
  }

  private follow(state: ChatState | undefined): void {
    if (!state) return;
    if (!this.sync) {
      const host = draftOf(state.draft);
      if (isEmpty(this.draft) && !isEmpty(host)) this.show(host);
      this.sync = new DraftSync(this.draft, state.draft, after, (action, taken) => this.tell(action, taken));
      return;
    }
    const arrival = this.sync.receive(state.draft, document.hasFocus() && document.activeElement === this.field);
    if (arrival === 'enter') this.take(draftOf(state.draft));
    else if (arrival === 'offer') this.offered.value = draftOf(state.draft);
  }

  /** Take what was typed. */
  typed(): void {
    this.isTyped = true;
    this.attachments.value = stillAttached(this.draft);
    this.changed();
  }

  attach(attachment: MessageAttachment): void {
    this.isTyped = true;
    this.attachments.value = [...this.attachments.peek(), attachment];
    this.changed();
  }

  detach(attachment: MessageAttachment): void {
    this.attachments.value = this.attachments.peek().filter(other => other !== attachment);
    this.changed();
  }

  /** Put a draft into the box, as if it had been typed. */
  fill(draft: Draft): void {
    this.show(draft);
    this.typed();
  }

  /** Use the draft of the other window. */
  use(): void {
    const offered = this.offered.peek();
    if (!offered) return;
    this.sync?.enter(offered);
    this.take(offered);
  }

  /** Stay with what is here, which the other windows are told at the next key. */
  dismiss(): void {
    this.offered.value = undefined;
  }

  /** Empty the box: what was in it is on its way. */
  sent(): void {
    this.sync?.sent();
    this.take(NO_DRAFT);
  }

  /** Leave the chat: what waits to be told is told now. */
  close(): void {
    this.sync?.flush();
  }

  private take(draft: Draft): void {
    this.offered.value = undefined;
    this.show(draft);
    this.local.keep(draft);
  }

  private show({text, attachments}: Draft): void {
    if (this.field) this.field.value = text;
    this.attachments.value = attachments;
    this.look();
  }

  private changed(): void {
    this.look();
    this.local.keep(this.draft);
    this.sync?.edit(this.draft);
  }

  private look(): void {
    const {text, attachments} = this.draft;
    this.isEmpty.value = !text.trim() && !attachments.length;
    this.startsWith.value = text.slice(0, 1);
  }
}

/** The draft of a chat while its composer is shown. */
export function useDraft(chat: string, followed: Followed<ChatState>): OpenDraft {
  const store = useStore();
  const draft = useMemo(() => new OpenDraft(store, chat), [store, chat]);
  useEffect(() => {
    let isGone = false;
    let stop: (() => void) | undefined;
    void draft.open(followed).then(stopping => {
      if (isGone) {
        stopping();
        return;
      }
      // What notes and files of the workspace hand over comes once the draft is known.
      const stopTaking = takingAttached(chat, attachment => draft.attach(attachment));
      stop = () => {
        stopTaking();
        stopping();
      };
    });
    return () => {
      isGone = true;
      stop?.();
      draft.close();
    };
  }, [draft]);
  return draft;
}
