// @vitest-environment happy-dom
/** Turning notifications on and off. */
import {afterEach, beforeEach, expect, test, vi} from 'vitest';
import {NotificationSettings} from '../../src/notify/section.tsx';
import {kindsOf, notifySettings, setNotify} from '../../src/notify/settings.ts';
import {show} from '../fakes/render.tsx';
import {settled} from '../store/fake_time.ts';

const permit = (permission: NotificationPermission, answer = permission): void => {
  vi.stubGlobal('isSecureContext', true);
  vi.stubGlobal('Notification', {permission, requestPermission: () => Promise.resolve(answer)});
};

beforeEach(() => setNotify({isOn: false, finished: false, withText: false}));
afterEach(() => vi.unstubAllGlobals());

test('over plain HTTP they cannot be turned on, and it says why', () => {
  vi.stubGlobal('isSecureContext', false);
  const page = show(<NotificationSettings />);
  expect(page.box.textContent).toContain('Installing and notifications need HTTPS.');
  expect(page.box.querySelector('button')).toBeNull();
  page.remove();
});

test('a browser that does not allow them says so', () => {
  permit('denied');
  const page = show(<NotificationSettings />);
  expect(page.box.textContent).toContain('does not allow notifications');
  page.remove();
});

test('they are off until they are turned on, and what is wanted can be chosen then', async () => {
  permit('default', 'granted');
  const page = show(<NotificationSettings />);
  expect(page.box.querySelectorAll('input').length).toBe(0);
  page.doing(() => page.button('Turn on').click());
  await settled();
  page.doing(() => {});
  expect(notifySettings.value.isOn).toBe(true);
  expect(kindsOf(notifySettings.value)).toEqual(['needsInput', 'failed']);
  page.doing(() => page.find<HTMLInputElement>('input').click());
  expect(kindsOf(notifySettings.value)).toEqual(['needsInput', 'failed', 'finished']);
  page.doing(() => page.button('Turn off').click());
  expect(notifySettings.value.isOn).toBe(false);
  page.remove();
});

test('refused by its user they stay off', async () => {
  permit('default', 'denied');
  const page = show(<NotificationSettings />);
  page.doing(() => page.button('Turn on').click());
  await settled();
  page.doing(() => {});
  expect(notifySettings.value.isOn).toBe(false);
  expect(page.find('[role=alert]').textContent).toContain('does not allow notifications');
  page.remove();
});
