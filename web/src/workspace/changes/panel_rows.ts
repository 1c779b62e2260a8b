/** The rows of the changes panel: files, the lines of those that are open, and the notes between them (pure). */
import type {Annotation, AnnotationsState, ChangesetFile} from '../../ahp/index.ts';
import {byLine, notesOn} from '../notes/model.ts';
import {uriOf} from './catalogue.ts';
import {type DiffLine, diffLines} from './diff_lines.ts';
import type {OpenFile} from './opened.ts';

/** Where in a set of changes a note is being written: on a file, or on a line of it as it is now. */
export interface WritingAt {
  readonly file: string;
  readonly line?: number;
}

export type PanelRow =
  | {readonly is: 'file'; readonly key: string; readonly file: ChangesetFile; readonly isOpen: boolean; readonly notes: number}
  | {readonly is: 'loading' | 'tooDifferent' | 'same'; readonly key: string; readonly file: ChangesetFile}
  | {readonly is: 'said'; readonly key: string; readonly file: ChangesetFile; readonly text: string; readonly again: boolean}
  | {readonly is: 'line'; readonly key: string; readonly file: ChangesetFile; readonly line: DiffLine; /** Whether it is the first in which a note can be written. */ readonly isFirst: boolean}
  | {readonly is: 'note'; readonly key: string; readonly note: Annotation}
  | {readonly is: 'writing'; readonly key: string; readonly file: ChangesetFile; readonly at: WritingAt};

export interface PanelState {
  readonly files: readonly ChangesetFile[];
  readonly open: ReadonlyMap<string, OpenFile>;
  readonly notes: AnnotationsState | undefined;
  readonly writing: WritingAt | undefined;
  readonly split: boolean;
}

/** All rows, in their order. */
export function panelRows(state: PanelState): PanelRow[] {
  return state.files.flatMap(file => {
    const notes = notesOn(state.notes, uriOf(file)).filter(note => !note.resolved);
    const open = state.open.get(file.id);
    const head: PanelRow = {is: 'file', key: `file ${file.id}`, file, isOpen: open !== undefined, notes: notes.length};
    return open ? [head, ...openRows(file, open, notes, state)] : [head];
  });
}

function openRows(file: ChangesetFile, open: OpenFile, notes: readonly Annotation[], state: PanelState): PanelRow[] {
  const placed = byLine(notes);
  const writing = state.writing?.file === file.id ? state.writing : undefined;
  const rows: PanelRow[] = (placed.get(0) ?? []).map(noteRow);
  if (writing && writing.line === undefined) rows.push(writingRow(file, writing));
  const {loaded} = open;
  if (!loaded) return [...rows, {is: 'loading', key: `loading ${file.id}`, file}];
  if (loaded.is === 'said') return [...rows, {is: 'said', key: `said ${file.id}`, file, text: loaded.text, again: loaded.again}, ...rest(placed, new Set())];
  const {aligned} = loaded;
  if (aligned.tooDifferent) rows.push({is: 'tooDifferent', key: `different ${file.id}`, file});
  const lines = diffLines(aligned.rows, {split: state.split, opened: open.gaps});
  if (!lines.length) rows.push({is: 'same', key: `same ${file.id}`, file});
  const told = new Set<number>();
  const first = lines.find(line => afterNumber(line) !== undefined);
  for (const line of lines) {
    rows.push({is: 'line', key: `${file.id} ${line.key}`, file, line, isFirst: line === first});
    const after = afterNumber(line);
    if (after !== undefined && placed.has(after)) {
      rows.push(...placed.get(after)!.map(noteRow));
      told.add(after);
    }
    if (writing && after !== undefined && writing.line === after) rows.push(writingRow(file, writing));
  }
  return [...rows, ...rest(placed, told)];
}

// Notes on lines that are folded or gone stand at the file's end, so that none is hidden.
const rest = (placed: ReadonlyMap<number, readonly Annotation[]>, told: ReadonlySet<number>): PanelRow[] =>
  [...placed].filter(([line]) => line !== 0 && !told.has(line)).flatMap(([, notes]) => notes.map(noteRow));

const noteRow = (note: Annotation): PanelRow => ({is: 'note', key: `note ${note.id}`, note});
const writingRow = (file: ChangesetFile, at: WritingAt): PanelRow => ({is: 'writing', key: `writing ${file.id} ${at.line ?? ''}`, file, at});

/** The line of the file as it is now that stands here. */
function afterNumber(line: DiffLine): number | undefined {
  if (line.is === 'line') return line.after;
  return line.is === 'pair' ? line.row.right?.[0] : undefined;
}
