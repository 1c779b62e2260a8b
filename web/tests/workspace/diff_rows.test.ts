import fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {anchors} from '../../src/workers/diff_anchors.ts';
import {type DiffRow, type Side, LONGEST_LINE, diffRows} from '../../src/workers/diff_rows.ts';

const text = (side?: Side): string | undefined => side?.[1].map(([piece]) => piece).join('');
const marked = (side?: Side): string[] => (side?.[1] ?? []).filter(([, is]) => is).map(([piece]) => piece);
const plain = (rows: readonly DiffRow[]): string[] =>
  rows.map(row => `${row.kind} ${row.left?.[0] ?? '-'}:${text(row.left) ?? ''}|${row.right?.[0] ?? '-'}:${text(row.right) ?? ''}`);
const numbered = (word: string): string => Array.from({length: 3_000}, (_, index) => `${word} ${index}`).join('\n');

describe('rows of a diff', () => {
  test('keep what is the same, pair what was changed, and number both sides', () => {
    const {rows, tooDifferent} = diffRows('one\ntwo\nthree\n', 'one\n2 two\nthree\nfour\n');
    expect(tooDifferent).toBe(false);
    expect(plain(rows)).toEqual(['same 1:one|1:one', 'mod 2:two|2:2 two', 'same 3:three|3:three', 'add -:|4:four']);
  });

  test('mark the words that differ, and only these', () => {
    const [row] = diffRows('const port = 8080;\n', 'const port = 9090;\n').rows;
    expect([marked(row?.left), marked(row?.right)]).toEqual([['8080'], ['9090']]);
  });

  test('mark nothing in lines that have nothing in common', () => {
    const [row] = diffRows('alpha beta gamma\n', 'import os, sys\n').rows;
    expect(row?.kind).toBe('mod');
    expect([...marked(row?.left), ...marked(row?.right)]).toEqual([]);
  });

  test('tell a missing newline at the end', () => {
    const [row] = diffRows('end\n', 'end').rows;
    expect(row?.kind).toBe('mod');
    expect([row?.left?.[2], row?.right?.[2]]).toEqual([undefined, 'bare']);
  });

  test('do not make every line of a file from Windows a difference', () => {
    const {rows} = diffRows('a\r\nb\r\n', 'a\r\nc\r\n');
    expect(plain(rows)).toEqual(['same 1:a|1:a', 'mod 2:b|2:c']);
    expect(diffRows('a\r\n', 'a\n').rows[0]?.kind).toBe('mod');
  });

  test('show the beginning of an endless line and say that it goes on', () => {
    const [row] = diffRows(`${'x'.repeat(1_000_000)}\n`, `${'x'.repeat(1_000_000)}y\n`).rows;
    expect(text(row?.left)).toHaveLength(LONGEST_LINE);
    expect(row?.right?.[2]).toBe('cut');
  });

  test('give up on the hopeless and show all of both', () => {
    const {rows, tooDifferent} = diffRows(numbered('a'), numbered('b'), {patience: 0});
    expect(tooDifferent).toBe(true);
    expect(rows.slice(0, 3_000).every(row => row.kind === 'del')).toBe(true);
    expect(rows.slice(3_000).every(row => row.kind === 'add')).toBe(true);
  });

  test('align many changes in a long file within no time', () => {
    const lines = (changed: boolean): string =>
      Array.from({length: 20_000}, (_, index) => `value ${index} ${changed && index % 5 === 0 ? 'new' : 'old'}\n`).join('');
    let clock = 0;
    const {rows, tooDifferent} = diffRows(lines(false), lines(true), {now: () => (clock += 0.01)});
    expect(tooDifferent).toBe(false);
    expect(rows.filter(row => row.kind === 'mod')).toHaveLength(4_000);
    expect(rows).toHaveLength(20_000);
  });

  test('keep to lines that are there once, and find what moved', () => {
    expect(anchors(['x', 'a', 'b', 'c', 'x'], ['b', 'x', 'c', 'a', 'x'])).toEqual([[2, 0], [3, 2]]);
    expect(plain(diffRows('a\nx\nb\n', 'x\nb\na\n').rows)).toEqual(['del 1:a|-:', 'same 2:x|1:x', 'same 3:b|2:b', 'add -:|3:a']);
  });

  test('stop marking words when time is up', () => {
    let clock = 0;
    const {rows} = diffRows('aa bb\naa bb\n', 'aa bc\naa bd\n', {now: () => (clock += 200)});
    expect(rows.map(row => marked(row.right))).toEqual([['bc'], []]);
  });

  test('of any two texts give both back', () => {
    const line = fc.constantFrom('', 'a', 'b b', 'a b', 'c\t', 'x'.repeat(30));
    const file = fc.tuple(fc.array(line, {maxLength: 12}), fc.boolean()).map(([lines, isBare]) => lines.join('\n') + (isBare || !lines.length ? '' : '\n'));
    fc.assert(fc.property(file, file, (before, after) => {
      const {rows} = diffRows(before, after, {patience: 10_000});
      const whole = (side: 'left' | 'right'): string => {
        const sides = rows.map(row => row[side]).filter(one => one !== undefined);
        return sides.map(one => text(one) + (one[2] === 'bare' ? '' : '\n')).join('');
      };
      expect(whole('left')).toBe(before);
      expect(whole('right')).toBe(after);
    }));
  });
});
