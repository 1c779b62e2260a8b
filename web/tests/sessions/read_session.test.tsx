// @vitest-environment happy-dom
import {afterEach, expect, test} from 'vitest';
import {IDLE, IS_READ} from '../../src/ahp/status.ts';
import {markRead, useReadSession} from '../../src/sessions/read_session.ts';
import {type Shown, show} from '../fakes/render.tsx';
import {type FakeStates, fakeStore} from '../fakes/store.ts';

const session = (status: number): never => ({resource: 'ahp-session:/a', provider: 'demo', title: 'a', status, createdAt: '', modifiedAt: ''}) as never;
function Looking() {
  useReadSession('ahp-session:/a');
  return null;
}
let page: Shown;
const open = (states: FakeStates): Shown => (page = show(<Looking />, fakeStore(states)));
const acts = (): unknown[] => page.store.acts.map(act => act.action);
const becomes = (status: number): void => page.doing(() => void (page.store.sessions.value = [session(status)]));
const READ = {type: 'session/isReadChanged', isRead: true};
afterEach(() => page.remove());

test('a session that is looked at is read, once each time that it becomes unread', () => {
  open({sessions: [session(IDLE)]});
  expect(acts()).toEqual([READ]);
  becomes(IDLE);
  expect(acts()).toHaveLength(1);
  becomes(IDLE | IS_READ);
  becomes(IDLE);
  expect(acts()).toHaveLength(2);
});

test('what is marked as unread while it is open stays so until it is opened again', () => {
  open({sessions: [session(IDLE | IS_READ)]});
  page.doing(() => void markRead(page.store, 'ahp-session:/a', false));
  becomes(IDLE);
  expect(acts()).toEqual([{...READ, isRead: false}]);
  page.remove();
  open({sessions: [session(IDLE)]});
  expect(acts()).toEqual([READ]);
});

test('nothing is said while disconnected', () => {
  open({sessions: [session(IDLE)], live: 'reconnecting'});
  expect(acts()).toEqual([]);
  page.doing(() => void (page.store.live.value = 'live'));
  expect(acts()).toEqual([READ]);
});
