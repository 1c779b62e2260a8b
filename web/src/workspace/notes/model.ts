/** Notes on files: what the annotations channel of a session holds, and the actions that change it (pure). */
import type {Annotation, AnnotationOrigin, AnnotationsState, MessageAttachment, StateAction, TextRange} from '../../ahp/index.ts';

/** Lines of a file, from 1, both included. */
export interface Lines {
  readonly from: number;
  readonly to: number;
}

/** The notes, open ones first, each group as the host has it. */
export function ordered(state: AnnotationsState | undefined): {open: readonly Annotation[]; resolved: readonly Annotation[]} {
  const all = state?.annotations ?? [];
  return {open: all.filter(note => !note.resolved), resolved: all.filter(note => note.resolved)};
}

/** The notes on a file. */
export const notesOn = (state: AnnotationsState | undefined, resource: string): readonly Annotation[] =>
  (state?.annotations ?? []).filter(note => note.resource === resource);

/** The lines that a range covers; undefined for a note on the whole file. */
export function linesOf(range: TextRange | undefined): Lines | undefined {
  if (!range || !Number.isInteger(range.start?.line) || !Number.isInteger(range.end?.line)) return undefined;
  const from = range.start.line + 1;
  // An end at the beginning of a line is the end of the line before it.
  const to = range.end.character === 0 && range.end.line > range.start.line ? range.end.line : range.end.line + 1;
  return {from, to: Math.max(from, to)};
}

/** The range of whole lines. */
export const rangeOf = ({from, to}: Lines): TextRange => ({start: {line: from - 1, character: 0}, end: {line: to, character: 0}});

/** The line below which a note is shown; undefined for one on the whole file. */
export const lineBelow = (note: Annotation): number | undefined => linesOf(note.range)?.to;

/** The notes of a file by the line that each stands below; those on the whole file are below line 0. */
export function byLine(notes: readonly Annotation[]): ReadonlyMap<number, readonly Annotation[]> {
  const found = new Map<number, Annotation[]>();
  for (const note of notes) {
    const line = lineBelow(note) ?? 0;
    const there = found.get(line);
    if (there) there.push(note);
    else found.set(line, [note]);
  }
  return found;
}

/** Where a note that is written here comes from. */
export interface NotePlace {
  readonly origin: AnnotationOrigin;
  readonly resource: string;
  readonly lines?: Lines;
}

/** Write a note; the ids are the writer's to make up. */
export function noteAdded(place: NotePlace, text: string, ids: {note: string; entry: string}): StateAction {
  const range = place.lines ? {range: rangeOf(place.lines)} : {};
  const annotation: Annotation = {id: ids.note, origin: place.origin, resource: place.resource, ...range, resolved: false, entries: [{id: ids.entry, text}]};
  return {type: 'annotations/set', annotation};
}

export const noteReplied = (annotationId: string, text: string, entryId: string): StateAction =>
  ({type: 'annotations/entrySet', annotationId, entry: {id: entryId, text}});
export const noteResolved = (annotationId: string, resolved: boolean): StateAction => ({type: 'annotations/updated', annotationId, resolved});
export const noteRemoved = (annotationId: string): StateAction => ({type: 'annotations/removed', annotationId});

/** Remove an entry; a note without any cannot be, so the last one takes the note with it. */
export const entryRemoved = (note: Annotation, entryId: string): StateAction =>
  note.entries.length > 1 ? {type: 'annotations/entryRemoved', annotationId: note.id, entryId} : noteRemoved(note.id);

/** What a message carries so that the agent reads these notes; `channel` is that of the session's annotations. */
export const noteAttachment = (channel: string, notes: readonly Annotation[], label: string): MessageAttachment =>
  ({type: 'annotations', resource: channel, annotationIds: notes.map(note => note.id), label, displayKind: 'annotations'});
