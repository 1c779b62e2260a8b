import {describe, expect, test} from 'vitest';
import {diffRows} from '../../src/workers/diff_rows.ts';
import {type DiffLine, counted, diffLines} from '../../src/workspace/changes/diff_lines.ts';

const numbered = (count: number, change: (index: number) => string = String): string =>
  Array.from({length: count}, (_, index) => `${change(index)}\n`).join('');
const brief = (line: DiffLine): string => {
  if (line.is === 'gap') return `… ${line.count}`;
  if (line.is === 'pair') return `${line.row.kind} ${line.row.left?.[0] ?? '-'} ${line.row.right?.[0] ?? '-'}`;
  return `${{same: ' ', del: '-', add: '+'}[line.kind]} ${line.before ?? ''}/${line.after ?? ''}`;
};

describe('lines of a diff', () => {
  const {rows} = diffRows(numbered(40), numbered(40, index => (index === 20 ? 'twenty' : String(index))));

  test('fold what is far from a change', () => {
    expect(diffLines(rows, {split: true}).map(brief)).toEqual(
      ['… 17', 'same 18 18', 'same 19 19', 'same 20 20', 'mod 21 21', 'same 22 22', 'same 23 23', 'same 24 24', '… 16']);
  });

  test('show a fold that was opened', () => {
    const lines = diffLines(rows, {split: true, opened: new Set([0])});
    expect(lines.filter(line => line.is === 'gap').map(brief)).toEqual(['… 16']);
    expect(brief(lines[0]!)).toBe('same 1 1');
  });

  test('stand below each other: all that went, then all that came', () => {
    const two = diffRows('a\nb\nc\n', 'a1\nb1\nc\n').rows;
    expect(diffLines(two, {split: false}).map(brief)).toEqual(['- 1/', '- 2/', '+ /1', '+ /2', '  3/3']);
  });

  test('show early what came, where much more went', () => {
    const {rows: cut} = diffRows(numbered(30), 'one\n');
    expect(diffLines(cut, {split: false}).slice(0, 3).map(brief)).toEqual(['- 1/', '+ /1', '- 2/']);
    const {rows: other} = diffRows(numbered(30), numbered(30, index => `x${index}`));
    expect(diffLines(other, {split: false, together: 2}).slice(0, 5).map(brief)).toEqual(['- 1/', '- 2/', '+ /1', '+ /2', '- 3/']);
  });

  test('of equal texts are all of them', () => {
    const same = diffRows(numbered(20), numbered(20)).rows;
    expect(diffLines(same, {split: false})).toHaveLength(20);
  });

  test('have keys of their own', () => {
    for (const split of [true, false]) {
      const keys = diffLines(rows, {split, opened: new Set([24])}).map(line => line.key);
      expect(new Set(keys).size).toBe(keys.length);
    }
  });

  test('are counted', () => {
    expect(counted(diffRows('a\nb\n', 'a\nc\nd\n').rows)).toEqual({added: 2, removed: 1});
  });
});
