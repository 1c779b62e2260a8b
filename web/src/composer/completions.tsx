/** Completions while typing: the host's, in a list over the box that leaves the focus where it is. */
import {type ReadonlySignal, type Signal, signal} from '@preact/signals';
import {AtSign, File, Folder, MessageSquare, NotebookPen} from 'lucide';
import {useEffect, useMemo} from 'preact/hooks';
import type {CompletionItem, MessageAttachment} from '../ahp/index.ts';
import {type Store, useStore} from '../store/index.ts';
import {Icon} from '../ui/icon.tsx';
import {Popover} from '../ui/popover.tsx';
import {visible} from '../ui/safe.tsx';
import {words} from '../words/index.ts';
import {attachmentOf, completedAt, describedBy, inserted} from './completion.ts';
import {mentioned} from './message.ts';
import type {OpenDraft} from './use_draft.ts';

/** Milliseconds without a key before the host is asked. */
const PAUSE = 80;
/** Items that are shown. */
const MOST = 50;
const TRIGGERS: readonly string[] = ['/', '@', '#'];

/** The completions of one box. */
export class Completing {
  readonly items: Signal<readonly CompletionItem[]> = signal([]);
  readonly chosen = signal(0);
  private readonly store: Store;
  private readonly chat: string;
  private readonly draft: OpenDraft;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private asked = 0;

  constructor(store: Store, chat: string, draft: OpenDraft) {
    this.store = store;
    this.chat = chat;
    this.draft = draft;
  }

  get isOpen(): boolean {
    return this.items.peek().length > 0;
  }

  /** See what was typed, or where the cursor went. */
  look(): void {
    clearTimeout(this.timer);
    const field = this.draft.field;
    const triggers = this.store.host.peek()?.completionTriggerCharacters ?? TRIGGERS;
    if (!field || field.selectionStart !== field.selectionEnd || !completedAt(field.value, field.selectionStart, triggers)) this.close();
    else this.timer = setTimeout(() => void this.ask(field.value, field.selectionStart), PAUSE);
  }

  private async ask(text: string, offset: number): Promise<void> {
    const number = ++this.asked;
    const got = await this.store.ask('completions', {channel: this.chat, kind: 'userMessage', text, offset}).catch(() => undefined);
    const field = this.draft.field;
    // An answer to what was typed before is none to what is there now.
    if (number !== this.asked || field?.value !== text || field.selectionStart !== offset) return;
    this.chosen.value = 0;
    this.items.value = got?.items.slice(0, MOST) ?? [];
  }

  close(): void {
    clearTimeout(this.timer);
    this.asked += 1;
    if (this.isOpen) this.items.value = [];
  }

  accept(item: CompletionItem): void {
    const field = this.draft.field;
    this.close();
    if (!field) return;
    const {text, cursor} = inserted(field.value, field.selectionStart, item);
    field.value = text;
    field.setSelectionRange(cursor, cursor);
    const attachment = attachmentOf(item);
    if (attachment) this.attach(attachment, item.insertText.trim());
    this.draft.typed();
    field.focus();
    // A folder is completed further.
    if (item.insertText.trimEnd().endsWith('/')) this.look();
  }

  private attach(attachment: MessageAttachment, mention: string): void {
    this.draft.attach(mention ? mentioned(attachment, mention) : attachment);
  }

  /** Take a key that belongs to an open list; whether it did. */
  key(event: KeyboardEvent): boolean {
    if (!this.isOpen || event.isComposing) return false;
    const {length} = this.items.peek();
    const steps: Readonly<Record<string, () => void>> = {
      ArrowDown: () => void (this.chosen.value = (this.chosen.peek() + 1) % length),
      ArrowUp: () => void (this.chosen.value = (this.chosen.peek() + length - 1) % length),
      Enter: () => this.accept(this.items.peek()[this.chosen.peek()]!),
      Tab: () => this.accept(this.items.peek()[this.chosen.peek()]!),
      Escape: () => this.close(),
    };
    const step = event.shiftKey || event.ctrlKey || event.metaKey || event.altKey ? undefined : steps[event.key];
    if (!step) return false;
    event.preventDefault();
    event.stopPropagation();
    step();
    return true;
  }
}

export function useCompletions(chat: string, draft: OpenDraft): Completing {
  const store = useStore();
  const completing = useMemo(() => new Completing(store, chat, draft), [store, chat, draft]);
  useEffect(() => () => completing.close(), [completing]);
  return completing;
}

export const listId = 'composer-completions';
export const optionId = (index: number): string => `${listId}-${index}`;

const ICONS: Readonly<Record<string, typeof File>> = {file: File, directory: Folder, chat: MessageSquare, annotations: NotebookPen};

export function CompletionList({completing, anchor}: {completing: Completing; anchor: {readonly current: HTMLElement | null}}) {
  const items = completing.items.value;
  if (!items.length) return null;
  return (
    <Popover anchor={anchor} role="listbox" id={listId} label={words.composer.completions} placement="top-start" keepFocus onClose={() => completing.close()} class="composer-completions">
      {items.map((item, index) => <CompletionRow key={index} item={item} index={index} chosen={completing.chosen} accept={() => completing.accept(item)} />)}
    </Popover>
  );
}

interface RowProps {
  readonly item: CompletionItem;
  readonly index: number;
  readonly chosen: ReadonlySignal<number>;
  accept(): void;
}

function CompletionRow({item, index, chosen, accept}: RowProps) {
  const isChosen = chosen.value === index;
  const {label, hint, description} = describedBy(item);
  return (
    <div
      id={optionId(index)}
      class="composer-completion"
      role="option"
      aria-selected={isChosen}
      ref={row => void (isChosen && row?.scrollIntoView?.({block: 'nearest'}))}
      // A press must not take the focus from the box.
      onPointerDown={event => event.preventDefault()}
      onClick={accept}
    >
      {!item.insertText.startsWith('/') && <Icon of={ICONS[item.attachment.displayKind ?? ''] ?? AtSign} />}
      <span class="composer-completion-label">{visible(label)}</span>
      {hint && <code>{visible(hint)}</code>}
      {description && <span class="composer-note">{visible(description)}</span>}
    </div>
  );
}
