/** The rows of a file that is shown: its lines, and the notes between them (pure). */
import type {Annotation} from '../../ahp/index.ts';
import {LONGEST_LINE} from '../../workers/diff_rows.ts';
import {type Lines, byLine} from '../notes/model.ts';

export type FileLineRow =
  | {readonly is: 'line'; readonly key: string; readonly number: number; readonly text: string; readonly isCut: boolean}
  | {readonly is: 'note'; readonly key: string; readonly note: Annotation}
  | {readonly is: 'writing'; readonly key: string; readonly lines: Lines | undefined};

/** The lines of a text, without what ends them. */
export function textLines(text: string): string[] {
  const lines = text.split('\n');
  if (lines.length > 1 && lines.at(-1) === '') lines.pop();
  return lines.map(line => (line.endsWith('\r') ? line.slice(0, -1) : line));
}

/** What the rows of a file are made from; `writing` is where a note is being written. */
export interface FileRowsState {
  readonly lines: readonly string[];
  readonly notes: readonly Annotation[];
  readonly writing: {readonly lines: Lines | undefined} | undefined;
}

/** All rows, in their order; notes on lines that are not there any more come last. */
export function fileRows({lines, notes, writing}: FileRowsState): FileLineRow[] {
  const placed = byLine(notes.filter(note => !note.resolved));
  const rows: FileLineRow[] = (placed.get(0) ?? []).map(noteRow);
  if (writing && !writing.lines) rows.push(writingRow(undefined));
  for (const [index, text] of lines.entries()) {
    const number = index + 1;
    const isCut = text.length > LONGEST_LINE;
    rows.push({is: 'line', key: `line ${number}`, number, text: isCut ? text.slice(0, LONGEST_LINE) : text, isCut});
    for (const note of placed.get(number) ?? []) rows.push(noteRow(note));
    if (writing?.lines?.to === number) rows.push(writingRow(writing.lines));
  }
  for (const [number, each] of placed) if (number > lines.length) rows.push(...each.map(noteRow));
  return rows;
}

const noteRow = (note: Annotation): FileLineRow => ({is: 'note', key: `note ${note.id}`, note});
const writingRow = (lines: Lines | undefined): FileLineRow => ({is: 'writing', key: 'writing', lines});

/** A selection that a press on a line makes; with Shift it reaches from where it began. */
export function selected(before: Lines | undefined, line: number, extend: boolean): Lines {
  if (!extend || !before) return {from: line, to: line};
  return line < before.from ? {from: line, to: before.to} : {from: before.from, to: line};
}
