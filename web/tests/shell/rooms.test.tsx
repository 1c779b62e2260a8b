// @vitest-environment happy-dom
import {afterEach, beforeEach, expect, test} from 'vitest';
import {go, route} from '../../src/route.ts';
import {App} from '../../src/shell/app.tsx';
import {type Shown, show} from '../fakes/render.tsx';
import {type FakeStates, fakeStore} from '../fakes/store.ts';

const S = 'ahp-session:/one';
const C = 'ahp-chat:/one';
const NOW = '2026-01-01T00:00:00Z';
const summary = {resource: S, provider: 'demo', title: 'Fix login race', status: 1, createdAt: NOW, modifiedAt: NOW, defaultChat: C};
const session = {provider: 'demo', title: 'Fix login race', status: 1, lifecycle: 'ready', activeClients: [], chats: [{resource: C, title: 'Main', status: 1}], defaultChat: C};
const chat = {resource: C, title: 'Main', status: 1, modifiedAt: NOW, turns: []};
const waiting = {session: S, chat: C, since: 1, request: {id: 'r', chat: C, kind: 'chatInput', request: {id: 'q', message: 'Which port?'}}} as const;

let shown: Shown;
const start = (states: FakeStates = {}): void => {
  shown = show(<App />, fakeStore({sessions: [summary], channels: {[S]: session, [C]: chat}, ...states}));
};
const resize = (width: number): void => (window as unknown as {happyDOM: {setViewport(size: object): void}}).happyDOM.setViewport({width, height: 844});
beforeEach(() => go({at: 'list'}));
afterEach(() => {
  shown.remove();
  resize(1440);
});

test('the page lists sessions, and shows the one that its address names', () => {
  start();
  expect(shown.find('nav').textContent).toContain('Fix login race');
  shown.doing(() => go({at: 'session', session: S}));
  expect(shown.find('main').textContent).toContain('Fix login race');
  expect(shown.store.following.get(S)).toBeGreaterThan(0);
});

test('the workspace opens beside the chat, and closes', () => {
  start();
  shown.doing(() => go({at: 'session', session: S, panel: 'files'}));
  expect(shown.find('aside').getAttribute('aria-label')).toBe('Files');
  expect(shown.find('aside [aria-current]').textContent).toBe('Files');
  shown.doing(() => shown.button('Hide workspace').click());
  expect(shown.box.querySelector('aside')).toBeNull();
  expect(route.value).toMatchObject({at: 'session', session: S});
});

test('the window is called after the session, with what waits', () => {
  start({waiting: [waiting]});
  shown.doing(() => go({at: 'session', session: S}));
  expect(document.title).toBe('(1) Fix login race · agenthost');
});

test('the width of a pane follows the arrow keys, within its limits', () => {
  start();
  const line = shown.find('[role="separator"]');
  const press = (key: string): void => shown.doing(() => void line.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true})));
  const width = (): number => Number(line.getAttribute('aria-valuenow'));
  const before = width();
  press('ArrowRight');
  expect(width()).toBe(before + 16);
  press('End');
  press('ArrowRight');
  expect(width()).toBe(400);
  press('Home');
  expect([width(), shown.find('#shell-list').style.width]).toEqual([240, '240px']);
});

test('somebody without access is asked for a token', () => {
  start({live: 'signedOut'});
  expect(shown.box.textContent).toContain('Not signed in, or access has ended. Scan a code or paste a token.');
  expect(shown.box.querySelector('nav')).toBeNull();
});

test('a viewer is told so', () => {
  start({me: {name: 'guest', role: 'viewer'}});
  expect(shown.box.textContent).toContain('You can look, not act.');
});

test('what comes to wait is said once to those who cannot see it', () => {
  start();
  expect(shown.box.textContent).not.toContain('Waiting for you');
  shown.doing(() => void (shown.store.waiting.value = [waiting]));
  expect(shown.find('[aria-live="polite"]').textContent).toBe('Waiting for you: Which port?');
});

test('on a phone there is one pane with tabs at the bottom, and in a chat tabs on top', () => {
  resize(390);
  start({waiting: [waiting]});
  const tabs = (): string[] => [...shown.box.querySelectorAll('.shell-bottom-tab')].map(each => each.textContent ?? '');
  expect(tabs()).toEqual(['1Needs you', 'Sessions', 'New', 'More']);
  shown.doing(() => shown.button('More').click());
  expect(shown.find('main').textContent).toContain('Automations');
  shown.doing(() => go({at: 'session', session: S}));
  expect(tabs()).toEqual([]);
  expect([...shown.box.querySelectorAll('.shell-top .shell-tab')].map(each => each.textContent)).toEqual(['Chat', 'Changes', 'Terminals']);
  shown.doing(() => go({at: 'session', session: S, panel: 'changes'}));
  expect(shown.find('main').hasAttribute('inert')).toBe(true);
});

test('what is open in a chat stays when a phone is turned', () => {
  resize(390);
  start();
  shown.doing(() => go({at: 'session', session: S}));
  const [room, box] = [shown.find('main .chat'), shown.find<HTMLTextAreaElement>('textarea')];
  box.focus();
  shown.doing(() => resize(844));
  expect(shown.find('.shell').className).toBe('shell middle');
  expect([shown.find('main .chat') === room, shown.find('textarea') === box, document.activeElement === box]).toEqual([true, true, true]);
  shown.doing(() => resize(390));
  expect([shown.find('.shell').className, shown.find('textarea') === box]).toEqual(['shell phone', true]);
});

test('where the list does not stand beside the room, it is the room', () => {
  resize(820);
  start();
  expect(shown.find('main').textContent).toContain('Fix login race');
  shown.doing(() => go({at: 'session', session: S}));
  expect(shown.box.querySelector('main nav[aria-label="Sessions"]')).toBeNull();
});
