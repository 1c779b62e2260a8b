/** The reducers and the types against the published fixtures of AHP 1.0.0. */
import {existsSync, readFileSync} from 'node:fs';
import {describe, expect, test} from 'vitest';
import {same} from '../../src/ahp/edits.ts';
import {reduce} from '../../src/ahp/reduction.ts';
import {sharedFolder, typesText} from '../../tools/types.mjs';
import {FOLDER, WHY_SKIPPED, bare, fixtures, frozen} from './corpus.ts';

const REDUCERS = fixtures('reducers');
const ROUND_TRIPS = fixtures('round-trips');

test('all published fixtures are there', context => {
  if (!existsSync(FOLDER)) context.skip(WHY_SKIPPED);
  expect([REDUCERS.length, ROUND_TRIPS.length]).toEqual([296, 67]);
});

describe.skipIf(!REDUCERS.length)('reducers', () => {
  test.each(REDUCERS)('%s', (_, fixture) => {
    let state = frozen(fixture.initial);
    for (const action of frozen(fixture.actions)) {
      const next = frozen(reduce(fixture.reducer, state, action));
      // What changes nothing gives back the same object.
      if (next !== state) expect(same(next, state)).toBe(false);
      state = next;
    }
    expect(bare(state)).toEqual(bare(fixture.expected));
  });
});

describe.skipIf(!ROUND_TRIPS.length)('round trips', () => {
  // The core keeps JSON whole, so unknown members pass through.
  test.each(ROUND_TRIPS)('%s', (_, fixture) => {
    const kept = JSON.parse(JSON.stringify(fixture.input));
    expect(kept).toEqual(fixture.preservedOutput ?? fixture.acceptableOutputs[0]);
  });
});

test('the types are those of the published schemas', context => {
  const schemas = `${sharedFolder()}/schema/1.0.0`;
  if (!existsSync(schemas)) context.skip(`no schemas in ${schemas} (set AGENTHOST_SHARED)`);
  expect(readFileSync(new URL('../../src/ahp/types.ts', import.meta.url), 'utf8')).toBe(typesText(schemas));
});
