// @vitest-environment happy-dom
import {afterEach, expect, test} from 'vitest';
import {go} from '../../src/route.ts';
import {App} from '../../src/shell/app.tsx';
import {type Shown, show} from '../fakes/render.tsx';
import {fakeStore} from '../fakes/store.ts';

const S = 'ahp-session:/one';
const C = 'ahp-chat:/one';
const summary = {resource: S, provider: 'demo', title: 'Fix login race', status: 1, createdAt: '2026-01-01T00:00:00Z', modifiedAt: '2026-01-01T00:00:00Z'};
const session = {provider: 'demo', title: 'Fix login race', status: 1, lifecycle: 'ready', activeClients: [], chats: [{resource: C, title: 'Main', status: 1}], defaultChat: C};
const chat = {resource: C, title: 'Main', status: 1, modifiedAt: '2026-01-01T00:00:00Z', turns: []};

let shown: Shown;
afterEach(() => shown.remove());

test('the page lists sessions, and shows the one that its address names', () => {
  go({at: 'list'});
  shown = show(<App />, fakeStore({sessions: [summary], channels: {[S]: session, [C]: chat}}));
  expect(shown.find('nav').textContent).toContain('Fix login race');
  shown.doing(() => go({at: 'session', session: S}));
  expect(shown.find('main').textContent).toContain('Fix login race');
  expect(shown.store.following.get(S)).toBeGreaterThan(0);
});
