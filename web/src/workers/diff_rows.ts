/** Two texts as rows that stand side by side: pure, run by the diff worker. */
import {diffArrays, diffWordsWithSpace} from 'diff';
import {anchors} from './diff_anchors.ts';

/** A piece of a line, and whether it is what differs in it. */
export type Span = [text: string, marked: boolean];
/** `cut`: the line is longer than is shown; `bare`: it ends the file without a newline. */
export type SideMark = 'cut' | 'bare';
/** One side of a row: the number of the line, from 1, and its text. */
export type Side = [line: number, spans: Span[], mark?: SideMark];
export interface DiffRow {
  kind: 'same' | 'del' | 'add' | 'mod';
  left?: Side;
  right?: Side;
}
export interface Aligned {
  rows: DiffRow[];
  /** Nobody could align the two in time: all of the one, then all of the other. */
  tooDifferent: boolean;
}

/** Milliseconds that aligning lines may take. */
export const PATIENCE = 500;
/** Characters of a line that are shown. */
export const LONGEST_LINE = 2_000;

// All word marks of a text together; without them the rows still say what changed.
const WORD_PATIENCE = 250;
// Longer lines get one mark from the first to the last difference.
const LONGEST_MARKED = 600;
// Below this share of common text, marks would cover everything and say nothing.
const ALIKE = 0.35;

const LINES = /[^\n]*\n|[^\n]+$/g;

/** Align two texts line by line, and mark the words that differ within a line. */
export function diffRows(before: string, after: string, o: {patience?: number; now?: () => number} = {}): Aligned {
  const now = o.now ?? (() => performance.now());
  const [left, right] = withoutReturns(before.match(LINES) ?? [], after.match(LINES) ?? []);
  const changes = lineChanges(left, right, now() + (o.patience ?? PATIENCE), now);
  if (!changes) return {rows: unaligned(left, right), tooDifferent: true};
  return {rows: aligned(changes, new Words(now)), tooDifferent: false};
}

interface Change {
  readonly value: string[];
  readonly added: boolean;
  readonly removed: boolean;
}

/** What to remove and to add; undefined if that is not found in time. */
function lineChanges(left: string[], right: string[], end: number, now: () => number): Change[] | undefined {
  const changes: Change[] = [];
  let [from, to] = [0, 0];
  for (const [at, other] of [...anchors(left, right), [left.length, right.length] as const]) {
    const [before, after] = [left.slice(from, at), right.slice(to, other)];
    const remaining = end - now();
    if (before.length && after.length) {
      if (remaining <= 0) return undefined;
      const found = diffArrays(before, after, {timeout: remaining});
      if (!found) return undefined;
      changes.push(...found);
    } else if (before.length || after.length) {
      changes.push({value: before.length ? before : after, added: !before.length, removed: before.length > 0});
    }
    if (at < left.length) changes.push({value: [left[at]!], added: false, removed: false});
    [from, to] = [at + 1, other + 1];
  }
  return changes;
}

// Where both files have them at every line they are no difference, and would clutter every line.
function withoutReturns(left: string[], right: string[]): [string[], string[]] {
  const lines = [...left, ...right];
  const isDos = lines.length > 0 && lines.every(line => line.endsWith('\r\n') || !line.endsWith('\n'));
  if (!isDos || !lines.some(line => line.endsWith('\r\n'))) return [left, right];
  return [left.map(withoutReturn), right.map(withoutReturn)];
}

const withoutReturn = (line: string): string => (line.endsWith('\r\n') ? `${line.slice(0, -2)}\n` : line);

function unaligned(left: readonly string[], right: readonly string[]): DiffRow[] {
  return [
    ...left.map((text, index): DiffRow => ({kind: 'del', left: side(text, index + 1)})),
    ...right.map((text, index): DiffRow => ({kind: 'add', right: side(text, index + 1)})),
  ];
}

function aligned(changes: readonly Change[], words: Words): DiffRow[] {
  const rows: DiffRow[] = [];
  let removed: string[] = [];
  let [left, right] = [1, 1];
  const flush = (): void => {
    for (const text of removed) rows.push({kind: 'del', left: side(text, left++)});
    removed = [];
  };
  for (const {value, added, removed: isRemoved} of changes) {
    if (isRemoved) {
      flush();
      removed = value;
    } else if (added) {
      const pairs = Math.min(removed.length, value.length);
      for (let index = 0; index < pairs; index++) rows.push(words.row(removed[index]!, value[index]!, left++, right++));
      removed = removed.slice(pairs);
      flush();
      for (const text of value.slice(pairs)) rows.push({kind: 'add', right: side(text, right++)});
    } else {
      flush();
      for (const text of value) rows.push({kind: 'same', left: side(text, left++), right: side(text, right++)});
    }
  }
  flush();
  return rows;
}

/** Marks words until its time is up. */
class Words {
  private readonly end: number;
  private readonly now: () => number;

  constructor(now: () => number) {
    this.now = now;
    this.end = now() + WORD_PATIENCE;
  }

  row(before: string, after: string, left: number, right: number): DiffRow {
    const [old, fresh] = this.spans(ended(before), ended(after));
    return {kind: 'mod', left: withMark(before, left, old), right: withMark(after, right, fresh)};
  }

  private spans(before: string, after: string): [Span[], Span[]] {
    const plain: [Span[], Span[]] = [whole(before), whole(after)];
    const remaining = this.end - this.now();
    if (remaining <= 0 || before === after) return plain;
    if (Math.max(before.length, after.length) > LONGEST_MARKED) return between(before, after);
    const changes = diffWordsWithSpace(before, after, {timeout: Math.min(remaining, 50)});
    if (!changes) return between(before, after);
    const common = changes.reduce((sum, change) => sum + (change.added || change.removed ? 0 : change.value.trim().length), 0);
    if (common < ALIKE * Math.min(before.trim().length, after.trim().length)) return plain;
    return [joined(changes.filter(change => !change.added)), joined(changes.filter(change => !change.removed))];
  }
}

function joined(changes: readonly {value: string; added: boolean; removed: boolean}[]): Span[] {
  const spans: Span[] = [];
  for (const {value, added, removed} of changes) {
    const last = spans.at(-1);
    if (last && last[1] === (added || removed)) last[0] += value;
    else spans.push([value, added || removed]);
  }
  return spans;
}

// One mark on each side, between what both begin and what both end with.
function between(before: string, after: string): [Span[], Span[]] {
  const most = Math.min(before.length, after.length);
  let start = 0;
  while (start < most && before[start] === after[start]) start++;
  let end = 0;
  while (end < most - start && before.at(-1 - end) === after.at(-1 - end)) end++;
  const parts = (text: string): Span[] => {
    const all: Span[] = [[text.slice(0, start), false], [text.slice(start, text.length - end), true], [text.slice(text.length - end), false]];
    return all.filter(([piece]) => piece);
  };
  return [parts(before), parts(after)];
}

const ended = (line: string): string => (line.endsWith('\n') ? line.slice(0, -1) : line);
const whole = (text: string): Span[] => (text ? [[text, false]] : []);
const side = (text: string, line: number): Side => withMark(text, line, whole(ended(text)));

function withMark(raw: string, line: number, spans: Span[]): Side {
  if (raw.length > LONGEST_LINE + 1) return [line, shortened(spans), 'cut'];
  return raw.endsWith('\n') ? [line, spans] : [line, spans, 'bare'];
}

function shortened(spans: readonly Span[]): Span[] {
  const kept: Span[] = [];
  let room = LONGEST_LINE;
  for (const [text, marked] of spans) {
    if (room <= 0) break;
    kept.push([text.slice(0, room), marked]);
    room -= text.length;
  }
  return kept;
}
