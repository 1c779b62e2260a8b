// @vitest-environment happy-dom
import {afterEach, expect, test} from 'vitest';
import {DiffView} from '../../src/workspace/changes/diff_view.tsx';
import {type Shown, show} from '../fakes/render.tsx';

let shown: Shown | undefined;
afterEach(() => shown?.remove());

const numbered = (count: number): string => Array.from({length: count}, (_, index) => `line ${index}\n`).join('');
const settled = (): Promise<void> => new Promise(resolve => setTimeout(resolve));

async function diff(before: string, after: string, limit?: number): Promise<Shown> {
  shown = show(<DiffView before={before} after={after} limit={limit} />);
  await settled();
  shown.doing(() => {});
  return shown;
}

const texts = ({box}: Shown): string[] => [...box.querySelectorAll('.diff-text')].map(one => one.textContent);

test('shows what went and what came, with the words that differ', async () => {
  const {box} = await diff('let a = 1;\n', 'let a = 2;\n');
  expect([...box.querySelectorAll('.diff-half')].map(half => half.className)).toEqual(['diff-half del', 'diff-half add']);
  expect([...box.querySelectorAll('mark')].map(mark => mark.textContent)).toEqual(['1', '2']);
});

test('folds what is the same, and opens it', async () => {
  const view = await diff(numbered(30), `${numbered(30)}more\n`);
  expect(texts(view)).toHaveLength(4);
  const gap = view.button('27 unchanged lines');
  view.doing(() => gap.click());
  expect(texts(view)).toHaveLength(31);
});

test('shows no more than its limit until somebody asks', async () => {
  const view = await diff('', numbered(50), 20);
  expect(texts(view)).toHaveLength(20);
  const all = view.button('Show all 50 lines');
  view.doing(() => all.click());
  expect(texts(view)).toHaveLength(50);
});

test('shows something of both where they cannot be aligned, also within its limit', async () => {
  const random = (seed: number): string => Array.from({length: 6_000}, (_, index) => `${seed} ${(index * 7919 * seed) % 10_007} ${index}\n`).join('');
  const view = await diff(random(3), random(5), 6);
  expect(view.box.textContent).toContain('Too different to align. Showing before and after.');
  expect([...view.box.querySelectorAll('.diff-half')].map(half => half.className)).toEqual([...Array(3).fill('diff-half del'), ...Array(3).fill('diff-half add')]);
});

test('spells out what would hide', async () => {
  const view = await diff('', 'user\u202Eadmin\n');
  expect(texts(view)).toEqual(['user⟨U+202E⟩admin']);
});
