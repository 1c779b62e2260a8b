// @vitest-environment happy-dom
import {afterEach, beforeEach, expect, test} from 'vitest';
import type {AnnotationsState} from '../../src/ahp/index.ts';
import {takeAttached} from '../../src/workspace/notes/attach.ts';
import {NotesPanel} from '../../src/workspace/notes/panel.tsx';
import {type Shown, show} from '../fakes/render.tsx';
import {fakeStore} from '../fakes/store.ts';

const SESSION = 'ahp-session:/1';
const CHANNEL = `${SESSION}/annotations`;
const note = (id: string, text: string, more: object = {}): AnnotationsState['annotations'][number] => ({
  id, origin: {session: SESSION}, resource: 'file:///w/src/a.ts', resolved: false, entries: [{id: `${id}-1`, text}], ...more,
});

let shown: Shown;
beforeEach(() => {
  const annotations = [
    note('done', 'was wrong', {resolved: true}),
    note('one', 'Why this?', {range: {start: {line: 2, character: 0}, end: {line: 4, character: 0}}}),
    note('two', 'And this?', {entries: [{id: 'x', text: 'first'}, {id: 'y', text: {markdown: 'second'}}]}),
  ];
  const store = fakeStore({channels: {[CHANNEL]: {annotations}, [SESSION]: {workingDirectories: ['file:///w']}}});
  shown = show(<NotesPanel session={SESSION} chat="chat" />, store);
});
afterEach(() => {
  takeAttached('chat');
  shown.remove();
});

const state = (): AnnotationsState => shown.store.channel('annotations', CHANNEL).state.peek() as AnnotationsState;
const press = (name: string): void => shown.doing(() => shown.button(name).click());

test('shows the open notes first, with their places', () => {
  expect([...shown.box.querySelectorAll('.notes-place')].map(place => place.textContent)).toEqual(['src/a.ts:3-4', 'src/a.ts', 'src/a.ts']);
  expect(shown.find('.notes-resolved summary').textContent).toBe('1 resolved');
  expect(shown.find<HTMLAnchorElement>('.notes-place').getAttribute('href')).toBe('/s/1?panel=files&file=src%2Fa.ts&line=3');
});

test('resolves, answers and removes', () => {
  press('Resolve');
  expect(state().annotations[1]?.resolved).toBe(true);
  press('Reply');
  const field = shown.find<HTMLTextAreaElement>('textarea');
  shown.doing(() => {
    field.value = 'Because.';
    field.dispatchEvent(new Event('input', {bubbles: true}));
  });
  shown.doing(() => shown.find<HTMLFormElement>('form').requestSubmit());
  expect(state().annotations[2]?.entries.map(entry => entry.text)).toContain('Because.');
  press('Remove note');
  expect(state().annotations.map(each => each.id)).toEqual(['done', 'one']);
});

test('hands a note, or all open ones, to the composer', () => {
  press('Attach to message');
  press('Attach all to message');
  expect(takeAttached('chat')).toEqual([
    {type: 'annotations', resource: CHANNEL, annotationIds: ['one'], label: 'a.ts:3-4', displayKind: 'annotations'},
    {type: 'annotations', resource: CHANNEL, annotationIds: ['one', 'two'], label: '2 open notes', displayKind: 'annotations'},
  ]);
});

test('tells a refusal where it happened', () => {
  press('Resolve');
  shown.doing(() => shown.store.acts[0]?.end('refused', 'no such note'));
  expect(shown.find('[role=alert]').textContent).toBe('The host refused: no such note');
});

test('cannot be changed by somebody who may only look', () => {
  shown.doing(() => void (shown.store.me.value = {name: 'me', role: 'viewer'}));
  expect(shown.button('Resolve').getAttribute('aria-disabled')).toBe('true');
  press('Resolve');
  expect(shown.store.acts).toEqual([]);
  expect(shown.button('Attach to message').getAttribute('aria-disabled')).toBeNull();
});
