// @vitest-environment happy-dom
import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import type {AnnotationsState, ChangesetFile, ChangesetState, Json} from '../../src/ahp/index.ts';
import {ChangesPanel} from '../../src/workspace/changes/panel.tsx';
import {panelRows} from '../../src/workspace/changes/panel_rows.ts';
import {diffRows} from '../../src/workers/diff_rows.ts';
import {type Shown, show} from '../fakes/render.tsx';
import {type FakeStore, fakeStore} from '../fakes/store.ts';
import {giveSizes} from './sizes.ts';

const SESSION = 'ahp-session:/1';
const SET = 'ahp-changeset:/1/session';
const side = (path: string, text: string): Json => ({uri: `file:///w/${path}`, content: {uri: `git-blob:${text}`, nonce: text}});
const file = (path: string, before: string | undefined, after: string | undefined, more: object = {}): ChangesetFile => ({
  id: `file:///w/${path}`,
  edit: {...(before === undefined ? {} : {before: side(path, before)}), ...(after === undefined ? {} : {after: side(path, after)}), diff: {added: 1, removed: 1}},
  ...more,
} as ChangesetFile);

const OPERATIONS = [
  {id: 'commit', label: 'Commit', scopes: ['changeset'], status: 'idle', group: 'primary'},
  {id: 'discard', label: 'Discard', scopes: ['resource'], status: 'idle', confirmation: 'Discard the changes in {0}?'},
];

let shown: Shown;
let store: FakeStore;
const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 3; turn++) await new Promise(resolve => setTimeout(resolve));
  shown.doing(() => {});
};

function open(state: ChangesetState, answers: Record<string, (params: Json) => unknown> = {}): void {
  const changesets = [{label: 'Session', uriTemplate: SET, changeKind: 'session', capabilities: {review: {}}}];
  store = fakeStore({
    channels: {[SESSION]: {changesets, workingDirectories: ['file:///w']}, [SET]: state, [`${SESSION}/annotations`]: {annotations: []}},
    answers: {resourceRead: ({uri}: Json) => ({data: uri.slice('git-blob:'.length), encoding: 'utf-8'}), ...answers},
  });
  shown = show(<ChangesPanel session={SESSION} chat="chat" />, store);
}

beforeEach(giveSizes);
afterEach(() => shown?.remove());

describe('the changes panel', () => {
  test('lists the files and opens their diffs', async () => {
    open({status: 'ready', files: [file('a.ts', 'one\n', 'two\n'), file('b/c.ts', undefined, 'new\n')]});
    await settled();
    expect(shown.box.textContent).toContain('2 files');
    expect([...shown.box.querySelectorAll('.changes-path')].map(path => path.textContent)).toEqual(['a.ts', 'b/c.ts']);
    shown.doing(() => shown.find('.changes-file-name').click());
    await settled();
    expect([...shown.box.querySelectorAll('.diff-text')].map(text => text.textContent)).toEqual(['one', 'two']);
    expect(store.asks.map(ask => ask.params.uri)).toEqual(['git-blob:one\n', 'git-blob:two\n']);
  });

  test('ticks off what was reviewed', async () => {
    open({status: 'ready', files: [file('a.ts', 'one\n', 'two\n'), file('b.ts', 'x\n', 'y\n')]});
    await settled();
    shown.doing(() => shown.find<HTMLInputElement>('input[type=checkbox]').click());
    expect(store.acts.map(act => act.action)).toEqual([{type: 'changeset/filesReviewChanged', files: ['file:///w/a.ts'], reviewed: true}]);
    expect(shown.box.textContent).toContain('1 of 2 reviewed');
    shown.doing(() => store.acts[0]?.end('refused', 'not for review'));
    expect(shown.find('[role=alert]').textContent).toBe('The host refused: not for review');
  });

  test('carries out what the host offers, and asks where the host wants that', async () => {
    open({status: 'ready', files: [file('a.ts', 'one\n', 'two\n'), file('b.ts', 'x\n', 'y\n')], operations: OPERATIONS as ChangesetState['operations'] & {}},
      {invokeChangesetOperation: () => ({})});
    await settled();
    shown.doing(() => shown.button('Commit').click());
    shown.doing(() => shown.button('More for a.ts').click());
    shown.doing(() => [...shown.box.querySelectorAll<HTMLElement>('[role=menuitem]')].find(item => item.textContent === 'Discard')?.click());
    expect(shown.find('dialog').textContent).toContain('Discard the changes in a.ts?');
    shown.doing(() => [...shown.box.querySelectorAll<HTMLElement>('dialog .danger')][0]?.click());
    expect(store.asks.filter(ask => ask.method === 'invokeChangesetOperation').map(ask => ask.params)).toEqual([
      {channel: SET, operationId: 'commit'},
      {channel: SET, operationId: 'discard', target: {kind: 'resource', resource: 'file:///w/a.ts', side: 'after'}},
    ]);
  });

  test('says what cannot be shown, and offers to try again', async () => {
    let isBroken = true;
    open({status: 'ready', files: [file('a.bin', undefined, 'x\0y')]}, {
      resourceRead: () => {
        if (isBroken) throw new Error('went away');
        return {data: 'x\0y', encoding: 'utf-8'};
      },
    });
    await settled();
    expect(shown.box.textContent).toContain('went away');
    isBroken = false;
    shown.doing(() => shown.button('Try again').click());
    await settled();
    expect(shown.box.textContent).toContain('Not text.');
  });

  test('tells a failure from no changes', () => {
    open({status: 'error', error: {errorType: 'git', message: 'git took too long'}, files: []});
    expect(shown.box.textContent).toContain('The changes could not be found: git took too long');
    shown.doing(() => store.apply(SET, {type: 'changeset/statusChanged', status: 'ready'}));
    expect(shown.box.textContent).toContain('No changes.');
  });

  test('keeps what is read while the host looks again', async () => {
    open({status: 'ready', files: [file('a.ts', 'one\n', 'two\n')]});
    await settled();
    shown.doing(() => store.set(SET, {status: 'computing', files: []}));
    expect(shown.box.textContent).toContain('Looking again...');
    expect([...shown.box.querySelectorAll('.diff-text')].map(text => text.textContent)).toEqual(['one', 'two']);
    shown.doing(() => store.set(SET, {status: 'ready', files: []}));
    expect(shown.box.textContent).toContain('No changes.');
  });

  test('writes a note at a line', async () => {
    open({status: 'ready', files: [file('a.ts', 'one\n', 'one\ntwo\n')]});
    await settled();
    shown.doing(() => shown.button('Write a note on line 2').click());
    const field = shown.find<HTMLTextAreaElement>('textarea');
    shown.doing(() => {
      field.value = 'Why two?';
      field.dispatchEvent(new Event('input', {bubbles: true}));
    });
    shown.doing(() => shown.find<HTMLFormElement>('form').requestSubmit());
    const [note] = (store.channel('annotations', `${SESSION}/annotations`).state.peek() as AnnotationsState).annotations;
    expect(note).toMatchObject({resource: 'file:///w/a.ts', range: {start: {line: 1, character: 0}, end: {line: 2, character: 0}}, origin: {session: SESSION}});
    expect(shown.box.textContent).toContain('Why two?');
  });
});

describe('its rows', () => {
  const changed = file('a.ts', 'one\n', 'two\n');
  const note = (id: string, line: number, resolved = false): AnnotationsState['annotations'][number] => ({
    id, origin: {session: SESSION}, resource: changed.id, resolved, entries: [], range: {start: {line: line - 1, character: 0}, end: {line, character: 0}},
  });

  test('have the notes below their lines, and those whose line is gone at the end', () => {
    const loaded = {is: 'rows', aligned: diffRows('a\nb\n', 'a\nB\n')} as const;
    const rows = panelRows({
      files: [changed], open: new Map([[changed.id, {key: '', gaps: new Set<number>(), loaded}]]), writing: undefined, split: true,
      notes: {annotations: [note('far', 99), note('here', 1), note('old', 1, true)]},
    });
    expect(rows.map(row => row.is)).toEqual(['file', 'line', 'note', 'line', 'note']);
    expect(rows.flatMap(row => (row.is === 'note' ? [row.note.id] : []))).toEqual(['here', 'far']);
  });
});
