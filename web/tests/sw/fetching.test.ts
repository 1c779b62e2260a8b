/** What the service worker answers by itself, with caches and a network of our own. */
import {beforeEach, describe, expect, test} from 'vitest';
import {type Fetching, answer, isPlace} from '../../src/sw/fetching.ts';

const ORIGIN = 'https://host.example';
let kept: Map<string, Response>;
let fetched: string[];
let isDown: boolean;

const world = (isLoopback = false): Fetching => ({
  origin: ORIGIN,
  isLoopback,
  files: () => Promise.resolve({
    match: url => Promise.resolve(kept.get(url)?.clone()),
    put: (url, response) => Promise.resolve(void kept.set(url, response)),
  }),
  fetch: request => {
    const url = typeof request === 'string' ? request : request.url;
    fetched.push(url);
    return isDown ? Promise.reject(new TypeError('no network')) : Promise.resolve(new Response(`fresh ${url}`));
  },
});

const ask = (path: string, o: {mode?: string; method?: string} = {}, isLoopback = false): Promise<Response> | undefined =>
  answer({url: path.startsWith('http') ? path : ORIGIN + path, method: o.method ?? 'GET', mode: (o.mode ?? 'cors') as RequestMode}, world(isLoopback));
const text = async (response: Promise<Response> | undefined): Promise<string | undefined> => (await response)?.text();

beforeEach(() => {
  kept = new Map([['/', new Response('kept index')]]);
  fetched = [];
  isDown = false;
});

test.each(['/healthz', '/metrics', '/sw.js', '/secret'])('%s is none of its business', path => {
  expect(ask(path)).toBeUndefined();
  expect(ask(path, {mode: 'navigate'})).toBeUndefined();
});

test('neither are other origins, nor what changes something', () => {
  expect(ask('https://elsewhere.example/assets/x.js')).toBeUndefined();
  expect(ask('/assets/x.js', {method: 'POST'})).toBeUndefined();
});

test.each([['/', true], ['/s/abc/c/x', true], ['/settings', true], ['/settings/access', true], ['/automations/1/runs/2', true], ['/settingsx', false], ['/metrics', false], ['/newer', false]])('%s is a place: %s', (path, is) => {
  expect(isPlace(path)).toBe(is);
});

test('assets are fetched once', async () => {
  expect(await text(ask('/assets/x.js'))).toBe(`fresh ${ORIGIN}/assets/x.js`);
  isDown = true;
  expect(await text(ask('/assets/x.js'))).toBe(`fresh ${ORIGIN}/assets/x.js`);
  expect(fetched).toEqual([`${ORIGIN}/assets/x.js`]);
});

describe('places', () => {
  test('show the kept page at once', async () => {
    expect(await text(ask('/s/abc', {mode: 'navigate'}))).toBe('kept index');
    expect(fetched).toEqual([]);
  });

  test('at this very machine show what is there now, and the kept page if nothing is', async () => {
    expect(await text(ask('/s/abc', {mode: 'navigate'}, true))).toBe('fresh /');
    isDown = true;
    expect(await text(ask('/s/abc', {mode: 'navigate'}, true))).toBe('kept index');
  });

  test('without a kept page come from the host', async () => {
    kept.clear();
    expect(await text(ask('/', {mode: 'navigate'}))).toBe('fresh /');
  });
});
