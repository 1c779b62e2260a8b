// @vitest-environment happy-dom
import {afterEach, expect, test} from 'vitest';
import {ConnectionBar} from '../../src/shell/connection_bar.tsx';
import type {Live} from '../../src/store/index.ts';
import {type Shown, show} from '../fakes/render.tsx';
import {fakeStore} from '../fakes/store.ts';

let shown: Shown;
afterEach(() => shown.remove());
const bar = (live: Live): string => {
  const store = fakeStore({live});
  store.since.value = new Date().setHours(14, 2, 0, 0);
  shown = show(<ConnectionBar />, store);
  return shown.box.textContent ?? '';
};

test('a lost connection tells as of when the page is, and can be tried now', () => {
  expect(bar('reconnecting')).toMatch(/^Reconnecting\. This is how it was at 14:02\./);
  shown.button('Try now').click();
  expect(shown.store.calls).toEqual(['retry']);
});

test('offline, it says that nothing is sent', () => {
  expect(bar('offline')).toContain('You are offline. Drafts are kept, nothing is sent.');
});

test('a tab whose place another took can take it back', () => {
  expect(bar('superseded')).toContain('Open in another tab.');
  shown.button('Use here').click();
  expect(shown.store.calls).toEqual(['retry']);
});

test('with a live connection there is nothing to say', () => {
  expect(bar('live')).toBe('');
});
