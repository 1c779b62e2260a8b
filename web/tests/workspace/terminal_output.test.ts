import fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import type {TerminalState} from '../../src/ahp/index.ts';
import {Output, overlap, printed} from '../../src/workspace/terminals/output.ts';

const state = (...texts: string[]): TerminalState => ({
  title: 'bash', claim: {kind: 'client', clientId: 'c'}, lifecycle: {status: 'running'},
  content: texts.map(value => ({type: 'unclassified', value})),
});
const lines = (from: number, to: number): string => Array.from({length: to - from}, (_, index) => `line ${from + index}\r\n`).join('');

describe('output of a terminal', () => {
  test('begins with everything, then goes on with what is new', () => {
    const output = new Output();
    expect(output.step(state('$ '))).toEqual({anew: true, text: '$ '});
    expect(output.step(state('$ ', 'ls\r\n'))).toEqual({anew: false, text: 'ls\r\n'});
    expect(output.step(state('$ ls\r\n'))).toBeUndefined();
  });

  test('goes on where the beginning was cut off', () => {
    const output = new Output();
    output.step(state(lines(0, 1000)));
    expect(output.step(state(lines(400, 1003)))).toEqual({anew: false, text: lines(1000, 1003)});
  });

  test('begins anew when it was cleared, or has nothing in common any more', () => {
    const output = new Output();
    output.step(state(lines(0, 1000)));
    expect(output.step(state())).toEqual({anew: true, text: ''});
    output.step(state(lines(0, 1000)));
    expect(output.step(state('li'))).toEqual({anew: true, text: 'li'});
  });

  test('has what commands printed, and nothing of parts that nobody knows', () => {
    const content = [{type: 'command', output: 'out'}, {type: 'new'}] as unknown as TerminalState['content'];
    expect(printed({...state(), content})).toBe('out');
  });

  test('overlaps as far as it can', () => {
    const word = fc.string({unit: fc.constantFrom('a', 'b'), maxLength: 12});
    fc.assert(fc.property(word, word, (before, after) => {
      let most = Math.min(before.length, after.length);
      while (most && !before.endsWith(after.slice(0, most))) most--;
      expect(overlap(before, after)).toBe(most);
    }), {numRuns: 500});
  });
});
