// @vitest-environment happy-dom
/** Subscribing to pushes, and what is said where that fails. */
import {signal} from '@preact/signals';
import {afterEach, expect, test, vi} from 'vitest';
import {pushFailure, subscribe} from '../../src/notify/push.ts';
import type {Store} from '../../src/store/index.ts';

const asked = vi.fn();
const store = {host: signal({_meta: {'agenthost/push': 'a-key'}}), ask: asked} as unknown as Pick<Store, 'ask' | 'host'>;

afterEach(() => {
  vi.unstubAllGlobals();
  pushFailure.value = undefined;
});

test('a browser that keeps no worker says that it tells only while the page is open', async () => {
  vi.stubGlobal('navigator', {serviceWorker: {getRegistration: () => Promise.resolve(undefined)}});
  await subscribe(store);
  expect(pushFailure.value).toContain('keeps nothing');
  expect(asked).not.toHaveBeenCalled();
});

test('what the browser refuses is said in its own words', async () => {
  const pushManager = {getSubscription: () => Promise.resolve(null), subscribe: () => Promise.reject(new Error('permission denied'))};
  vi.stubGlobal('navigator', {serviceWorker: {getRegistration: () => Promise.resolve({pushManager})}});
  await subscribe(store);
  expect(pushFailure.value).toBe('permission denied');
});
