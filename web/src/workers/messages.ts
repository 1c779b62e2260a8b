/** What the page and its workers say to each other: plain data, each answer with its question's number. */
import type {Aligned} from './diff_rows.ts';

export interface DiffAsk {
  readonly id: number;
  readonly before: string;
  readonly after: string;
}

export interface DiffTold extends Aligned {
  readonly id: number;
}

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
