// @vitest-environment happy-dom
import {afterEach, beforeEach, expect, test} from 'vitest';
import type {TerminalState} from '../../src/ahp/index.ts';
import {go, route} from '../../src/route.ts';
import {TerminalsPanel} from '../../src/workspace/terminals/panel.tsx';
import {Typing} from '../../src/workspace/terminals/typing.ts';
import {type Shown, show} from '../fakes/render.tsx';
import {type FakeStore, fakeStore} from '../fakes/store.ts';

const SESSION = 'ahp-session:/1';
const claim = {kind: 'session', session: SESSION, chat: 'chat'} as const;
const state: TerminalState = {title: 'bash', claim, lifecycle: {status: 'running'}, content: [], cols: 80, rows: 24};

let store: FakeStore;
let shown: Shown | undefined;
beforeEach(() => {
  go({at: 'session', session: SESSION, panel: 'terminals'});
  store = fakeStore({
    root: {agents: [], terminals: [
      {resource: 'ahp-terminal:/other', title: 'elsewhere', claim: {kind: 'client', clientId: 'x'}, lifecycle: {status: 'running'}},
      {resource: 'ahp-terminal:/ended', title: 'build', claim, lifecycle: {status: 'exited', exitCode: 1}},
    ]},
    channels: {'ahp-terminal:/1': state},
    answers: {createTerminal: () => null},
  });
});
afterEach(() => shown?.remove());

const settled = (): Promise<void> => new Promise(resolve => setTimeout(resolve));
const actions = (): unknown[] => store.acts.map(act => act.action);

test('lists the session’s terminals, and the others apart', () => {
  shown = show(<TerminalsPanel session={SESSION} chat="chat" />, store);
  expect([...shown.box.querySelectorAll('.terminals-name')].map(name => name.textContent)).toEqual(['buildended']);
  shown.doing(() => shown?.button('1 terminal elsewhere on this host').click());
  expect(shown.find('[role=menuitem]').textContent).toBe('elsewhere');
});

test('makes a terminal for the session, and goes there', async () => {
  shown = show(<TerminalsPanel session={SESSION} chat="chat" />, store);
  shown.doing(() => shown?.button('New terminal').click());
  await settled();
  expect(store.asks[0]).toMatchObject({method: 'createTerminal', params: {claim}});
  expect(route.value).toMatchObject({panel: 'terminals', file: store.asks[0]?.params.channel});
});

test('makes one by a double click', async () => {
  shown = show(<TerminalsPanel session={SESSION} chat="chat" />, store);
  const button = shown.button('New terminal');
  shown.doing(() => void button.dispatchEvent(new MouseEvent('click', {detail: 1, bubbles: true})));
  await settled();
  shown.doing(() => void button.dispatchEvent(new MouseEvent('click', {detail: 2, bubbles: true})));
  await settled();
  expect(store.asks.map(ask => ask.method)).toEqual(['createTerminal']);
});

test('tells why none was made', async () => {
  store = fakeStore({answers: {createTerminal: () => {
    throw new Error('too many');
  }}});
  shown = show(<TerminalsPanel session={SESSION} chat="chat" />, store);
  shown.doing(() => shown?.button('New terminal').click());
  await settled();
  shown.doing(() => {});
  expect(shown.find('[role=alert]').textContent).toBe('too many');
});

test('typing sends this window’s size first, once, and then what was typed', () => {
  const typing = new Typing(store, 'ahp-terminal:/1', false);
  typing.hears({cols: 80, rows: 24});
  typing.fits({cols: 60, rows: 20});
  expect(typing.isForeign.value).toBe(true);
  expect(actions()).toEqual([]);
  typing.type('l');
  typing.hears({cols: 60, rows: 20});
  typing.type('s');
  expect(typing.isForeign.value).toBe(false);
  expect(actions()).toEqual([{type: 'terminal/resized', cols: 60, rows: 20}, {type: 'terminal/input', data: 'l'}, {type: 'terminal/input', data: 's'}]);
});

test('a terminal that was made here follows the window', () => {
  const typing = new Typing(store, 'ahp-terminal:/1', true);
  typing.fits({cols: 60, rows: 20});
  typing.hears({cols: 60, rows: 20});
  typing.fits({cols: 100, rows: 30});
  expect(actions()).toEqual([{type: 'terminal/resized', cols: 60, rows: 20}, {type: 'terminal/resized', cols: 100, rows: 30}]);
  expect(typing.shown).toEqual({cols: 100, rows: 30});
});

test('a window without its host asks for nothing, and for its size when the host is back', () => {
  const typing = new Typing(store, 'ahp-terminal:/1', true);
  typing.hears({cols: 80, rows: 24});
  store.live.value = 'reconnecting';
  typing.fits({cols: 60, rows: 20});
  expect(actions()).toEqual([]);
  store.live.value = 'live';
  typing.again();
  expect(actions()).toEqual([{type: 'terminal/resized', cols: 60, rows: 20}]);
  expect(typing.last.value).toBeUndefined();
});
