/** How high a line of code will be, before it is built: a list whose guesses are right need not place its rows anew. */
import type {Side} from '../../workers/diff_rows.ts';
import type {DiffLine} from './diff_lines.ts';

/** Pixels of a line that is not wrapped. */
export const LINE_HEIGHT = 20;
// The width of a character at 13 pixels in most monospaced fonts, in pixels.
const CHARACTER = 7.83;
// Characters that number and sign of a line take, and the space at its end.
const GUTTER = 8;
const GAP_HEIGHT = 28;

/** The characters of code that fit into a line; none if nobody can tell. */
export function columnsIn(box: HTMLElement | null, split: boolean): number {
  const width = (box?.clientWidth ?? 0) / (split ? 2 : 1);
  return Math.max(0, Math.floor(width / CHARACTER) - GUTTER);
}

/** The height of a text of so many characters, wrapped. */
export const textHeight = (characters: number, columns: number): number => LINE_HEIGHT * (columns ? Math.max(1, Math.ceil(characters / columns)) : 1);

/** The height of a line of a diff, roughly. */
export function lineHeight(line: DiffLine, columns: number): number {
  if (line.is === 'gap') return GAP_HEIGHT;
  if (line.is === 'line') return textHeight(lengthOf(line.side), columns);
  return textHeight(Math.max(lengthOf(line.row.left), lengthOf(line.row.right)), columns);
}

const lengthOf = (side: Side | undefined): number => side?.[1].reduce((sum, [text]) => sum + text.length, 0) ?? 0;
