/** What the page and its workers say to each other: plain data, each answer with its question's number. */

export interface DiffAsk {
  readonly id: number;
  readonly before: string;
  readonly after: string;
}

/** A piece of a line, and whether it differs from the other side. */
export type Span = readonly [text: string, marked: boolean];

/** A row of a diff: each side has its line number and its pieces. */
export interface DiffRow {
  readonly kind: 'same' | 'del' | 'add' | 'mod';
  readonly left?: readonly [line: number, spans: readonly Span[]];
  readonly right?: readonly [line: number, spans: readonly Span[]];
}

export type DiffTold = {readonly id: number; readonly rows: readonly DiffRow[]} | {readonly id: number; readonly tooDifferent: true};

export interface PaintAsk {
  readonly id: number;
  readonly lang: string;
  readonly code: string;
}

/** Runs of each line by length and colour class; null where the code stays plain. */
export interface PaintTold {
  readonly id: number;
  readonly lines: readonly (readonly (readonly [length: number, cls: number])[])[] | null;
}
