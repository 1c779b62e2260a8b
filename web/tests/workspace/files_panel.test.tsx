// @vitest-environment happy-dom
import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import type {AnnotationsState, Json} from '../../src/ahp/index.ts';
import {go, route} from '../../src/route.ts';
import {fileRows, selected, textLines} from '../../src/workspace/files/file_rows.ts';
import {FilesPanel} from '../../src/workspace/files/panel.tsx';
import {sortedEntries} from '../../src/workspace/files/tree.ts';
import {takeAttached} from '../../src/workspace/notes/attach.ts';
import {type Shown, show} from '../fakes/render.tsx';
import {type FakeStore, fakeStore} from '../fakes/store.ts';
import {giveSizes} from './sizes.ts';

const SESSION = 'ahp-session:/1';
const FILES: Readonly<Record<string, string>> = {'file:///w/src/main.ts': 'one\ntwo\nthree\n', 'file:///w/big.log': 'x'.repeat(2_000_000), 'file:///w/raw.bin': 'a\0b'};
const ENTRIES: Readonly<Record<string, Json>> = {
  'file:///w': [{name: 'raw.bin', type: 'file'}, {name: 'src', type: 'directory'}, {name: 'big.log', type: 'file'}],
  'file:///w/src': [{name: 'main.ts', type: 'file'}],
};

let store: FakeStore;
let shown: Shown;
const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 4; turn++) await new Promise(resolve => setTimeout(resolve));
  shown.doing(() => {});
};
const open = async (file?: string, line?: number): Promise<void> => {
  go({at: 'session', session: SESSION, panel: 'files', file, line});
  shown = show(<FilesPanel session={SESSION} chat="chat" />, store);
  await settled();
};
const entries = (): string[] => [...shown.box.querySelectorAll('.files-entry')].map(entry => entry.textContent);
const press = async (name: string): Promise<void> => {
  shown.doing(() => [...shown.box.querySelectorAll<HTMLElement>('.files-entry')].find(entry => entry.textContent === name)?.click());
  await settled();
};

beforeEach(() => {
  giveSizes();
  store = fakeStore({
    channels: {[SESSION]: {workingDirectories: ['file:///w']}, [`${SESSION}/annotations`]: {annotations: []}},
    answers: {
      resourceList: ({uri}: Json) => {
        if (!ENTRIES[uri]) throw new Error('no such folder');
        return {entries: ENTRIES[uri]};
      },
      resourceResolve: ({uri}: Json) => (ENTRIES[uri] ? {uri, type: 'directory'} : {uri, type: 'file', size: FILES[uri]?.length}),
      resourceRead: ({uri}: Json) => ({data: FILES[uri], encoding: 'utf-8'}),
    },
  });
});
afterEach(() => {
  takeAttached('chat');
  shown?.remove();
});

describe('the files panel', () => {
  test('walks in the folders, and reads a file', async () => {
    await open();
    expect(entries()).toEqual(['src', 'big.log', 'raw.bin']);
    await press('src');
    expect(entries()).toEqual(['src', 'main.ts', 'big.log', 'raw.bin']);
    await press('main.ts');
    expect(route.value).toMatchObject({panel: 'files', file: 'src/main.ts'});
    expect([...shown.box.querySelectorAll('.files-text')].map(line => line.textContent)).toEqual(['one', 'two', 'three']);
  });

  test('reads again when the agent has done something', async () => {
    store.sessions.value = [{resource: SESSION, status: 8}] as never;
    await open('src/main.ts');
    const read = (): number => store.asks.filter(ask => ask.method === 'resourceRead').length;
    expect(read()).toBe(1);
    shown.doing(() => void (store.sessions.value = [{resource: SESSION, status: 33}] as never));
    await settled();
    expect(read()).toBe(2);
    shown.doing(() => void (store.sessions.value = [{resource: SESSION, status: 1}] as never));
    await settled();
    expect(read()).toBe(2);
  });

  test('does not even ask for what is too large, and tells what is no text', async () => {
    await open('big.log');
    expect(shown.box.textContent).toContain('Too large to show: 1.9 MB.');
    expect(store.asks.map(ask => ask.method)).not.toContain('resourceRead');
    shown.remove();
    await open('raw.bin');
    expect(shown.box.textContent).toContain('Not text (3 bytes).');
  });

  test('shows a folder that was named in the tree', async () => {
    await open('src');
    expect(entries()).toEqual(['src', 'main.ts', 'big.log', 'raw.bin']);
    expect(route.value).toMatchObject({panel: 'files', file: undefined});
  });

  test('tells a refusal', async () => {
    store = fakeStore({channels: {[SESSION]: {workingDirectories: ['file:///w']}}});
    await open();
    expect(shown.find('[role=alert]').textContent).toContain('no answer to resourceList');
  });

  test('selects the line that the address names, and writes a note there', async () => {
    await open('src/main.ts', 2);
    expect(shown.find('.files-line.selected').textContent).toBe('2two');
    shown.doing(() => [...shown.box.querySelectorAll<HTMLElement>('.files-number')][2]?.dispatchEvent(new MouseEvent('click', {bubbles: true, shiftKey: true})));
    expect(shown.find('.files-selection span').textContent).toBe('Lines 2 to 3');
    shown.doing(() => shown.find('.files-selection .ui-button').click());
    const field = shown.find<HTMLTextAreaElement>('textarea');
    shown.doing(() => {
      field.value = 'Both?';
      field.dispatchEvent(new Event('input', {bubbles: true}));
    });
    shown.doing(() => shown.find<HTMLFormElement>('form').requestSubmit());
    const [note] = (store.channel('annotations', `${SESSION}/annotations`).state.peek() as AnnotationsState).annotations;
    expect(note).toMatchObject({resource: 'file:///w/src/main.ts', range: {start: {line: 1}, end: {line: 3}}});
  });

  test('hands lines to the composer', async () => {
    await open('src/main.ts', 2);
    shown.doing(() => [...shown.box.querySelectorAll<HTMLElement>('.files-selection .ui-button')][1]?.click());
    expect(takeAttached('chat')).toEqual([
      {type: 'resource', uri: 'file:///w/src/main.ts', label: 'main.ts:2', displayKind: 'file', selection: {range: {start: {line: 1, character: 0}, end: {line: 2, character: 0}}}},
    ]);
  });
});

describe('rows of a file', () => {
  test('are its lines, without what ends them', () => {
    expect(textLines('a\r\nb\n')).toEqual(['a', 'b']);
    expect(textLines('a\n\n')).toEqual(['a', '']);
    expect(textLines('a')).toEqual(['a']);
  });

  test('cut a line that never ends', () => {
    const [row] = fileRows({lines: ['x'.repeat(1_000_000)], notes: [], writing: undefined});
    expect(row).toMatchObject({is: 'line', isCut: true});
    expect(row?.is === 'line' && row.text.length).toBe(2_000);
  });

  test('are selected one by one, or up to where Shift says', () => {
    expect(selected(undefined, 3, true)).toEqual({from: 3, to: 3});
    expect(selected({from: 3, to: 3}, 6, true)).toEqual({from: 3, to: 6});
    expect(selected({from: 3, to: 6}, 1, true)).toEqual({from: 1, to: 6});
    expect(selected({from: 3, to: 6}, 9, false)).toEqual({from: 9, to: 9});
  });
});

test('entries are sorted as people count, folders first', () => {
  const names = [['b10', 'file'], ['b2', 'file'], ['Z', 'directory'], ['A', 'file']] as const;
  expect(sortedEntries(names.map(([name, type]) => ({name, type}))).map(entry => entry.name)).toEqual(['Z', 'A', 'b2', 'b10']);
});
