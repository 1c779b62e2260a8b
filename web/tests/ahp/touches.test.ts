/** What reducers promise to touch of a state is all that they look at, and all that they change. */
import {existsSync} from 'node:fs';
import {describe, expect, test} from 'vitest';
import {same} from '../../src/ahp/edits.ts';
import {reduce} from '../../src/ahp/reduction.ts';
import {touched} from '../../src/ahp/registry.ts';
import {FOLDER, type Json, WHY_SKIPPED, fixtures, frozen} from './corpus.ts';

const REDUCERS = fixtures('reducers');
const only = (state: Json, wanted: (key: string) => boolean): Json => Object.fromEntries(Object.entries(state).filter(([key]) => wanted(key)));

/** Check one step; whether there was a promise to check. */
function check(kind: Json, state: Json, action: Json): boolean {
  const members = touched(action.type);
  if (!members) return false;
  const after: Json = reduce(kind, state, action);
  // Given those members alone it does the same to them.
  const expected = reduce(kind, frozen(only(state, key => members.has(key))), action);
  expect(same(only(after, key => members.has(key)), expected), action.type).toBe(true);
  const others = only(state, key => !members.has(key));
  expect(Object.keys(only(after, key => !members.has(key))), action.type).toEqual(Object.keys(others));
  for (const key of Object.keys(others)) expect(after[key], `${action.type} ${key}`).toBe(state[key]);
  return true;
}

describe.skipIf(!REDUCERS.length)('in the published fixtures', () => {
  const promising = new Set<string>();

  test('reducers keep what they promise', () => {
    for (const [, fixture] of REDUCERS) {
      let state = frozen(fixture.initial);
      for (const action of frozen(fixture.actions)) {
        if (check(fixture.reducer, state, action)) promising.add(action.type);
        state = frozen(reduce(fixture.reducer, state, action));
      }
    }
  });

  test('there were many promises to keep', () => {
    expect(promising.size).toBeGreaterThan(20);
  });
});

test('the fixtures are there', context => {
  if (!existsSync(FOLDER)) context.skip(WHY_SKIPPED);
  expect(REDUCERS.length).toBeGreaterThan(0);
});

test('what is not known promises nothing', () => {
  expect(touched('chat/fromTheFuture')).toBeUndefined();
  expect(touched('__proto__')).toBeUndefined();
  expect([...touched('chat/draftChanged')!]).toEqual(['draft']);
});
