// @vitest-environment happy-dom
import {afterEach, beforeEach, expect, test, vi} from 'vitest';
import {type ListHandle, VirtualList} from '../../src/ui/virtual_list.tsx';
import {type Shown, show} from '../fakes/render.tsx';

interface Row {
  readonly key: string;
  readonly text: string;
}

const ROW = 50;
const BOX = 400;
let shown: Shown;
let drawn: string[] = [];
const rows = (count: number): Row[] => Array.from({length: count}, (_, index) => ({key: `k${index}`, text: `row ${index}`}));
const keyOf = (row: Row): string => row.key;
const renderRow = (row: Row) => {
  drawn.push(row.key);
  return <p>{row.text}</p>;
};
const list = (given: readonly Row[], handle?: (handle: ListHandle) => void) =>
  <VirtualList rows={given} keyOf={keyOf} renderRow={renderRow} estimate={ROW} label="Rows" handle={handle} />;
const texts = (): string[] => [...shown.box.querySelectorAll('p')].map(each => each.textContent ?? '');

// There is no layout here: every row and the box have the height that they were given.
beforeEach(() => {
  drawn = [];
  vi.spyOn(HTMLElement.prototype, 'offsetHeight', 'get').mockImplementation(function height(this: HTMLElement) {
    return this.classList.contains('ui-list') ? BOX : ROW;
  });
  vi.spyOn(HTMLElement.prototype, 'offsetWidth', 'get').mockReturnValue(700);
  vi.spyOn(HTMLElement.prototype, 'clientHeight', 'get').mockReturnValue(BOX);
  vi.spyOn(HTMLElement.prototype, 'clientWidth', 'get').mockReturnValue(700);
});
afterEach(() => {
  shown.remove();
  vi.restoreAllMocks();
});

test('of many rows only those in view, and a few around them, are built', () => {
  shown = show(list(rows(1000)));
  expect(texts()[0]).toBe('row 0');
  expect(texts().length).toBeGreaterThanOrEqual(BOX / ROW);
  expect(texts().length).toBeLessThan(20);
  expect(shown.find('.ui-list-rows').style.height).toBe(`${1000 * ROW}px`);
});

test('a row is drawn anew only when it changed', () => {
  const before = rows(6);
  shown = show(list(before));
  drawn = [];
  shown.again(list(before.with(5, {key: 'k5', text: 'row 5, longer'})));
  expect(drawn).toEqual(['k5']);
  expect(texts().at(-1)).toBe('row 5, longer');
});

test('rows that come before others keep what those hold', () => {
  const before = rows(3);
  shown = show(list(before));
  const kept = shown.find('[data-key="k0"]');
  shown.again(list([{key: 'older', text: 'older'}, ...before]));
  expect(shown.find('[data-key="k0"]')).toBe(kept);
  expect(texts()).toEqual(['older', 'row 0', 'row 1', 'row 2']);
});

test('a row that throws leaves its neighbours alone', () => {
  vi.spyOn(console, 'error').mockImplementation(() => {});
  const Thrower = () => {
    throw new Error('a broken row');
  };
  shown = show(<VirtualList rows={rows(3)} keyOf={keyOf} renderRow={row => (row.key === 'k1' ? <Thrower /> : <p>{row.text}</p>)} label="Rows" />);
  expect(texts()).toEqual(['row 0', 'row 2']);
  expect(shown.box.textContent).toContain('This part could not be shown.');
});

test('its owner can ask for a row by name', () => {
  let handle: ListHandle | undefined;
  shown = show(list(rows(100), given => void (handle = given)));
  expect([handle?.toKey('k80'), handle?.toKey('nobody')]).toEqual([true, false]);
});
