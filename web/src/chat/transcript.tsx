/** The transcript of a chat: its rows, kept at the end while somebody looks there, with older turns on demand. */
import {computed, signal, useSignal} from '@preact/signals';
import {ArrowDown} from 'lucide';
import {useEffect, useMemo, useRef} from 'preact/hooks';
import type {FollowedChat} from '../store/index.ts';
import {Button} from '../ui/button.tsx';
import {command} from '../ui/commands.ts';
import type {ChatRef} from '../ui/registry.tsx';
import {Skeleton} from '../ui/skeleton.tsx';
import {lazy} from '../ui/lazy.tsx';
import {toast} from '../ui/toast.tsx';
import {type ListHandle, VirtualList} from '../ui/virtual_list.tsx';
import {words} from '../words/index.ts';
import {Folds, TranscriptProvider} from './context.ts';
import {RowView} from './row_view.tsx';
import {type Row, RowMaker} from './rows.ts';

const FindBar = lazy(() => import('../find/find_bar.tsx').then(room => room.FindBar));

/** Turns that are loaded at first. */
export const FIRST_TURNS = 30;

export interface TranscriptProps {
  readonly at: ChatRef;
  readonly followed: FollowedChat;
  /** The turn that a link names. */
  readonly turn?: string | undefined;
}

export function Transcript({at, followed, turn}: TranscriptProps) {
  const model = useMemo(() => new TranscriptModel(followed), [followed]);
  const context = useMemo(() => ({at, folds: model.folds, followed}), [model, at.session, at.chat]);
  const handle = useMemo(() => signal<ListHandle | undefined>(undefined), [model]);
  const isFinding = useSignal(false);
  useEffect(() => command({id: 'chat.find', words: words.chat.find, group: words.chat.group, keys: ['Mod+F'], run: () => void (isFinding.value = true)}), []);
  useTurnLink(model, handle.value, turn);
  const rows = model.rows.value;
  if (!rows) return <Opening followed={followed} />;
  return (
    <TranscriptProvider value={context}>
      <div class="chat-transcript">
        {rows.length === 0 && <p class="chat-empty">{words.chat.empty}</p>}
        <VirtualList
          rows={rows}
          keyOf={keyOf}
          renderRow={renderRow}
          estimate={estimate}
          anchor="end"
          role="feed"
          label={words.chat.transcript}
          busy={model.isBusy.value}
          class="chat-list"
          onNearStart={model.loadOlder}
          handle={found => void (handle.value = found)}
        />
        {isFinding.value && handle.value && <FindBar model={model} list={handle.value} onClose={() => void (isFinding.value = false)} />}
        {handle.value && <Latest model={model} list={handle.value} />}
      </div>
    </TranscriptProvider>
  );
}

const keyOf = (row: Row): string => row.key;
const renderRow = (row: Row) => <RowView row={row} />;

// Characters of a line and its height, roughly, at the transcript's full width.
const LINE = 95;
const LINE_HEIGHT = 23;

function estimate(row: Row): number {
  switch (row.kind) {
    case 'message': return 56 + lines(row.message.text.length);
    case 'text': return 12 + lines(row.stream ? row.stream.section(row.section).reduce((sum, block) => sum + block.raw.length, 0) : row.part.content.length);
    default: return 40;
  }
}

const lines = (length: number): number => Math.max(1, Math.ceil(length / LINE)) * LINE_HEIGHT;

// It is asked for again when the beginning comes near again.
const failed = (): boolean => false;

/** Frames within which a list finds a row whose neighbours it has to measure first. */
const SETTLING = 20;

async function frames(count: number): Promise<void> {
  for (let at = 0; at < count; at++) await new Promise(done => requestAnimationFrame(done));
}

/** Frames within which something that was loaded shows. */
const MOST_FRAMES = 30;

/** Pages of older turns in which a linked turn is looked for. */
const MOST_PAGES = 200;

/** The rows of one followed chat, and loading more of it. */
export class TranscriptModel {
  readonly folds = new Folds();
  private readonly maker = new RowMaker();
  readonly followed: FollowedChat;
  private isGoing = false;
  private loading: Promise<boolean> | undefined;

  constructor(followed: FollowedChat) {
    this.followed = followed;
  }

  readonly rows = computed(() => {
    const state = this.followed.state.value;
    return state && this.maker.rows(state, {open: this.folds.rows.value});
  });
  readonly isBusy = computed(() => this.followed.state.value?.activeTurn !== undefined);

  /** Load older turns, once at a time; whether there are still more. */
  readonly loadOlder = (): void => {
    if (!this.isGoing) void this.load();
  };

  /** Bring a row into view; older turns wait until it is there, as they would move what is aimed at. */
  async goTo(list: ListHandle, key: string, align: 'start' | 'center'): Promise<void> {
    this.isGoing = true;
    // The list has new rows once they are drawn.
    await frames(2);
    list.toKey(key, align);
    await frames(SETTLING);
    this.isGoing = false;
  }

  load(): Promise<boolean> {
    if (!this.followed.mayLoad.peek()) return Promise.resolve(false);
    this.loading ??= this.followed.loadEarlier().catch(failed).finally(() => void (this.loading = undefined));
    return this.loading;
  }

  /** Load older turns until this one is there; whether it is. */
  async loadUntil(turn: string, isWanted: () => boolean): Promise<boolean> {
    /* oxlint-disable no-await-in-loop -- one page leads to the next */
    for (let page = 0; page < MOST_PAGES && isWanted() && !this.has(turn); page++) {
      const before = this.count();
      const areMore = await this.load();
      // What was loaded shows some frames later.
      for (let frame = 0; frame < MOST_FRAMES && this.count() === before; frame++) await frames(1);
      if (!areMore) break;
    }
    /* oxlint-enable no-await-in-loop */
    return this.has(turn);
  }

  private count(): number {
    return this.followed.state.peek()?.turns.length ?? 0;
  }

  private has(turn: string): boolean {
    const state = this.followed.state.peek();
    return state?.activeTurn?.id === turn || (state?.turns.some(each => each.id === turn) ?? false);
  }
}

function Opening({followed}: {followed: FollowedChat}) {
  const gone = followed.gone.value;
  if (gone !== undefined) return <p class="chat-empty" role="alert">{words.chat.gone(gone)}</p>;
  return <div class="chat-transcript"><Skeleton lines={6} /></div>;
}

/** Whether a row is something said or done; of a long text, its first row. */
const isContent = (row: Row): boolean => row.kind !== 'working' && row.kind !== 'end' && !(row.kind === 'text' && row.section > 0);

/** Takes one to the end, and says how much is new there. */
function Latest({model, list}: {model: TranscriptModel; list: ListHandle}) {
  const seen = useRef<string | undefined>(undefined);
  const rows = model.rows.value ?? [];
  if (list.atEnd.value) {
    seen.current = rows.findLast(isContent)?.key;
    return null;
  }
  const from = rows.findLastIndex(row => row.key === seen.current);
  const fresh = from < 0 ? 0 : rows.slice(from + 1).filter(isContent).length;
  return (
    <Button class="chat-latest" icon={ArrowDown} onClick={() => list.toEnd()}>
      {fresh ? words.chat.latestNew(fresh) : words.chat.latest}
    </Button>
  );
}

/** Go to the turn that the place names, loading older turns until it is there. */
function useTurnLink(model: TranscriptModel, list: ListHandle | undefined, turn: string | undefined): void {
  const isOpen = model.rows.value !== undefined;
  useEffect(() => {
    if (!turn || !list || !isOpen) return undefined;
    const wanted = {still: true};
    const go = async (): Promise<void> => {
      const isThere = await model.loadUntil(turn, () => wanted.still);
      if (!wanted.still) return;
      if (isThere) await model.goTo(list, `${turn}/message`, 'start');
      else toast(words.chat.turnNotFound);
    };
    void go();
    return () => {
      wanted.still = false;
    };
  }, [model, list, turn, isOpen]);
}
