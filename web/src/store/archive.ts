/**
 * What this browser keeps of the host, for when the host cannot be reached: the list, and the chats
 * that were looked at last.
 *
 * States are written a while after they were shown: a stream would otherwise be written at every
 * frame. What is kept is bounded in number and in size.
 */
import type {ChatState, Kind, SessionSummary, Timer} from '../ahp/index.ts';
import type {Kept} from './kept.ts';

/** Milliseconds between what is shown and what is kept. */
export const WRITE_AFTER = 3_000;
export const MOST_CHATS = 20;
export const MOST_TURNS = 30;
/** Characters of JSON that one state may have. */
export const MOST_SIZE = 300_000;
const MOST_LISTED = 500;
const LIST = 'list';
const INDEX = 'shown';

/** Something of old, and when it was true. */
export interface Aged<T> {
  readonly at: number;
  readonly value: T;
}

/** A state cut to what is worth keeping; undefined if it is too large even then. */
export function cut(kind: Kind, state: unknown): unknown {
  if (kind !== 'chat') return sizeOf(state) <= MOST_SIZE ? state : undefined;
  const chat = state as ChatState;
  let room = MOST_SIZE - sizeOf({...chat, turns: []});
  let from = chat.turns.length;
  // From the newest on, so that no more is measured than fits.
  while (from > 0 && chat.turns.length - from < MOST_TURNS) {
    room -= sizeOf(chat.turns[from - 1]) + 1;
    if (room < 0) break;
    from -= 1;
  }
  return room < 0 && from === chat.turns.length ? undefined : {...chat, turns: chat.turns.slice(from)};
}

const sizeOf = (value: unknown): number => JSON.stringify(value).length;

// What is still being written would be kept again and again.
const isGrowing = ({kind, state}: {kind: Kind; state: unknown}): boolean => kind === 'chat' && (state as ChatState).activeTurn !== undefined;

export class Archive {
  private readonly kept: Kept;
  private readonly timer: Timer;
  private dirty = new Map<string, {kind: Kind; state: unknown}>();
  private summaries: readonly SessionSummary[] | undefined;
  private stop: (() => void) | undefined;
  private isClosed = false;

  constructor(kept: Kept, timer: Timer) {
    this.kept = kept;
    this.timer = timer;
  }

  /** Take note of a state that is on the screen. */
  shown(uri: string, kind: Kind, state: unknown): void {
    if (kind !== 'chat' && kind !== 'session') return;
    this.dirty.set(uri, {kind, state});
    this.later();
  }

  /** Take note of the list. */
  listed(summaries: readonly SessionSummary[]): void {
    this.summaries = summaries;
    this.later();
  }

  /** The state of old of a channel. */
  async recall(uri: string): Promise<unknown> {
    const aged = (await this.kept.get(`state ${uri}`)) as Aged<unknown> | undefined;
    return aged?.value;
  }

  /** The list of old. */
  async recallList(): Promise<Aged<readonly SessionSummary[]> | undefined> {
    const aged = (await this.kept.get(LIST)) as Aged<readonly SessionSummary[]> | undefined;
    return Array.isArray(aged?.value) ? aged : undefined;
  }

  /** Keep nothing any more: this browser was signed out. */
  close(): void {
    this.isClosed = true;
    this.stop?.();
    this.dirty.clear();
    this.summaries = undefined;
  }

  /** Write now what waits to be written. */
  async flush(): Promise<void> {
    await this.writeAll(() => true);
  }

  private async writeAll(isRipe: (shown: {kind: Kind; state: unknown}) => boolean): Promise<void> {
    this.stop?.();
    this.stop = undefined;
    const {summaries} = this;
    const dirty = new Map([...this.dirty].filter(([, shown]) => isRipe(shown)));
    for (const uri of dirty.keys()) this.dirty.delete(uri);
    this.summaries = undefined;
    if (this.dirty.size) this.later();
    const at = this.timer.now();
    if (this.isClosed) return;
    if (summaries) await this.kept.set(LIST, {at, value: newest(summaries)});
    if (dirty.size) await this.write(dirty, at);
  }

  private later(): void {
    if (!this.isClosed) this.stop ??= this.timer.after(WRITE_AFTER, () => void this.writeAll(shown => !isGrowing(shown)));
  }

  private async write(dirty: ReadonlyMap<string, {kind: Kind; state: unknown}>, at: number): Promise<void> {
    const written: string[] = [];
    for (const [uri, {kind, state}] of dirty) {
      const value = cut(kind, state);
      if (value === undefined) continue;
      // One after another: a slow disk must not be given all at once.
      // oxlint-disable-next-line no-await-in-loop
      await this.kept.set(`state ${uri}`, {at, value});
      written.push(uri);
    }
    const before = ((await this.kept.get(INDEX)) ?? []) as readonly string[];
    // A chat is of use with its session only, so there is room for both.
    const uris = [...written, ...before.filter(uri => !dirty.has(uri))];
    await this.kept.set(INDEX, uris.slice(0, 2 * MOST_CHATS));
    for (const uri of uris.slice(2 * MOST_CHATS)) await this.kept.del(`state ${uri}`); // oxlint-disable-line no-await-in-loop
  }
}

const newest = (summaries: readonly SessionSummary[]): readonly SessionSummary[] =>
  summaries.toSorted((one, other) => (one.modifiedAt < other.modifiedAt ? 1 : -1)).slice(0, MOST_LISTED);
