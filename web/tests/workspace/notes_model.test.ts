import {describe, expect, test} from 'vitest';
import {type Annotation, type AnnotationsState, reduce} from '../../src/ahp/index.ts';
import {attachToMessage, attachedToMessage, takeAttached, takingAttached} from '../../src/workspace/notes/attach.ts';
import {byLine, entryRemoved, linesOf, noteAdded, noteAttachment, noteRemoved, noteReplied, noteResolved, notesOn, ordered, rangeOf} from '../../src/workspace/notes/model.ts';

const SESSION = 'ahp-session:/1';
const EMPTY: AnnotationsState = {annotations: []};
const PLACE = {origin: {session: SESSION}, resource: 'file:///a.ts'};

function written(): AnnotationsState {
  const one = reduce('annotations', EMPTY, noteAdded({...PLACE, lines: {from: 3, to: 4}}, 'why?', {note: 'n1', entry: 'e1'}));
  return reduce('annotations', one, noteAdded({...PLACE, resource: 'file:///b.ts'}, 'whole', {note: 'n2', entry: 'e2'}));
}

describe('notes', () => {
  test('stand on lines, or on the whole file', () => {
    const [one, two] = written().annotations;
    expect(linesOf(one?.range)).toEqual({from: 3, to: 4});
    expect(linesOf(two?.range)).toBeUndefined();
    expect(byLine(written().annotations).get(4)).toEqual([one]);
    expect(byLine(written().annotations).get(0)).toEqual([two]);
  });

  test('have ranges of whole lines, and are read as others write them', () => {
    expect(linesOf(rangeOf({from: 7, to: 7}))).toEqual({from: 7, to: 7});
    expect(linesOf({start: {line: 6, character: 2}, end: {line: 6, character: 9}})).toEqual({from: 7, to: 7});
    expect(linesOf({start: {line: 6, character: 0}, end: {line: 6, character: 0}})).toEqual({from: 7, to: 7});
    expect(linesOf({} as never)).toBeUndefined();
  });

  test('are answered, resolved, removed', () => {
    let state = reduce('annotations', written(), noteReplied('n1', 'because', 'e3'));
    state = reduce('annotations', state, noteResolved('n1', true));
    expect(ordered(state).open.map(note => note.id)).toEqual(['n2']);
    expect(ordered(state).resolved[0]?.entries.map(entry => entry.text)).toEqual(['why?', 'because']);
    state = reduce('annotations', state, noteRemoved('n1'));
    expect(notesOn(state, 'file:///a.ts')).toEqual([]);
  });

  test('go with their last entry', () => {
    const note = written().annotations[0] as Annotation;
    expect(entryRemoved(note, 'e1')).toEqual(noteRemoved('n1'));
    const longer = reduce('annotations', written(), noteReplied('n1', 'x', 'e3')).annotations[0] as Annotation;
    expect(entryRemoved(longer, 'e3')).toEqual({type: 'annotations/entryRemoved', annotationId: 'n1', entryId: 'e3'});
  });
});

describe('what goes with a message', () => {
  test('waits for its chat’s composer, once', () => {
    const attachment = noteAttachment(`${SESSION}/annotations`, written().annotations.slice(0, 1), 'a.ts:3');
    attachToMessage('chat', attachment);
    attachToMessage('chat', {...attachment});
    expect(attachedToMessage.value.get('chat')).toHaveLength(1);
    expect(takeAttached('other')).toEqual([]);
    expect(takeAttached('chat')).toEqual([attachment]);
    expect(takeAttached('chat')).toEqual([]);
  });

  test('is taken now and later, until nobody takes it any more', () => {
    const attachments = ['a', 'b', 'c'].map(label => noteAttachment('channel', [], label));
    const taken: unknown[] = [];
    attachToMessage('chat', attachments[0]!);
    const end = takingAttached('chat', attachment => void taken.push(attachment));
    attachToMessage('chat', attachments[1]!);
    end();
    attachToMessage('chat', attachments[2]!);
    expect(taken).toEqual(attachments.slice(0, 2));
    expect(takeAttached('chat')).toEqual([attachments[2]]);
  });
});
