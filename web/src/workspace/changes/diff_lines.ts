/** Rows of a diff as lines on the screen: side by side or one below the other, long stretches of the same folded (pure). */
import type {DiffRow, Side} from '../../workers/diff_rows.ts';

/** What one line on the screen shows. Keys stay the same while the diff does. */
export type DiffLine =
  | {readonly is: 'pair'; readonly key: string; readonly row: DiffRow}
  | {readonly is: 'line'; readonly key: string; readonly kind: 'same' | 'del' | 'add'; readonly before?: number; readonly after?: number; readonly side: Side}
  | {readonly is: 'gap'; readonly key: string; readonly from: number; readonly count: number};

/** Unchanged lines that are shown around what was changed. */
export const CONTEXT = 3;
// A gap that hides less than this would take as much room as what it hides.
const LEAST_HIDDEN = 4;

export interface Layout {
  readonly split: boolean;
  /** The gaps that somebody has opened, by the row they begin at. */
  readonly opened?: ReadonlySet<number>;
  readonly context?: number;
  /** Below each other: how many removed lines stand before the lines that replaced them, at most. */
  readonly together?: number;
}

/** The lines to show of a diff. */
export function diffLines(rows: readonly DiffRow[], layout: Layout): DiffLine[] {
  const lines: DiffLine[] = [];
  for (const [from, to, isSame] of runs(rows)) {
    const hidden = isSame ? hiddenIn(from, to, rows.length, layout.context ?? CONTEXT) : undefined;
    if (hidden && !layout.opened?.has(hidden[0])) {
      lines.push(...shown(rows, from, hidden[0], layout));
      lines.push({is: 'gap', key: `gap ${hidden[0]}`, from: hidden[0], count: hidden[1] - hidden[0]});
      lines.push(...shown(rows, hidden[1], to, layout));
    } else {
      lines.push(...shown(rows, from, to, layout));
    }
  }
  return lines;
}

/** How many lines were added and removed. */
export function counted(rows: readonly DiffRow[]): {added: number; removed: number} {
  let [added, removed] = [0, 0];
  for (const {kind} of rows) {
    if (kind === 'add' || kind === 'mod') added++;
    if (kind === 'del' || kind === 'mod') removed++;
  }
  return {added, removed};
}

function* runs(rows: readonly DiffRow[]): Generator<[from: number, to: number, isSame: boolean]> {
  let from = 0;
  for (let index = 1; index <= rows.length; index++) {
    const isSame = rows[from]!.kind === 'same';
    if (index < rows.length && (rows[index]!.kind === 'same') === isSame) continue;
    yield [from, index, isSame];
    from = index;
  }
}

function hiddenIn(from: number, to: number, all: number, context: number): [number, number] | undefined {
  // Nothing was changed at all: then all of it is shown.
  if (from === 0 && to === all) return undefined;
  const start = from === 0 ? from : from + context;
  const end = to === all ? to : to - context;
  return end - start >= LEAST_HIDDEN ? [start, end] : undefined;
}

function shown(rows: readonly DiffRow[], from: number, to: number, {split, together = Infinity}: Layout): DiffLine[] {
  const lines: DiffLine[] = [];
  for (let index = from; index < to;) {
    const {kind} = rows[index]!;
    let end = index + 1;
    while (end < to && rows[end]!.kind === kind && end - index < together) end++;
    lines.push(...(split ? pairs(rows, index, end) : stacked(rows, index, end, kind)));
    index = end;
  }
  return lines;
}

function pairs(rows: readonly DiffRow[], from: number, to: number): DiffLine[] {
  return rows.slice(from, to).map((row, index) => ({is: 'pair', key: `pair ${from + index}`, row}));
}

// What was replaced, then what replaced it.
function stacked(rows: readonly DiffRow[], from: number, to: number, kind: DiffRow['kind']): DiffLine[] {
  const part = rows.slice(from, to);
  if (kind === 'same') return part.map((row, index) => line('same', from + index, row.right!, row.left![0]));
  const removed = part.flatMap((row, index) => (row.left ? line('del', from + index, row.left) : []));
  const added = part.flatMap((row, index) => (row.right ? line('add', from + index, row.right) : []));
  return [...removed, ...added];
}

function line(kind: 'same' | 'del' | 'add', index: number, side: Side, before?: number): DiffLine {
  const numbers = kind === 'del' ? {before: side[0]} : {...(before === undefined ? {} : {before}), after: side[0]};
  return {is: 'line', key: `${kind} ${index}`, kind, ...numbers, side};
}
