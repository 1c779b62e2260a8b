// @vitest-environment happy-dom
import {expect, test} from 'vitest';
import {nextWaiting, waitingTitle} from '../../src/shell/waiting.ts';
import type {Waiting} from '../../src/store/index.ts';

const ask = (id: string, chat: string, since: number): Waiting => ({session: `s${chat}`, chat, since, request: {id: `r${id}`, chat, kind: 'chatInput', request: {id, message: `Question ${id}\nmore`}}});
const [A, B, C] = [ask('a', '1', 30), ask('b', '2', 10), ask('c', '2', 20)] as const;

test('the one that waits longest comes first, then round', () => {
  expect(nextWaiting([A, B, C], undefined, undefined)).toBe(B);
  expect(nextWaiting([A, B, C], 'b', '2')).toBe(C);
  expect(nextWaiting([A, B, C], 'a', '1')).toBe(B);
});

test('what waits in the open chat comes before what waits elsewhere', () => {
  expect(nextWaiting([A, B, C], undefined, '1')).toBe(A);
});

test('nothing waits, nothing is next', () => {
  expect(nextWaiting([], undefined, undefined)).toBeUndefined();
});

test('a title is one line', () => {
  expect(waitingTitle(A)).toBe('Question a');
});

test('a kind that this page does not know has no words, but a name', () => {
  const odd = {session: 's', chat: '1', since: 5, request: {id: 'r', chat: '1', kind: 'levitation'}} as unknown as Waiting;
  expect(waitingTitle(odd)).toBe('');
  expect(nextWaiting([odd, A], 'r', '1')).toBe(A);
});
