/** Texts of the workspace panels. */

const count = (number: number, one: string, many: string): string => `${number.toLocaleString('en')} ${number === 1 ? one : many}`;

export const workspace = {
  empty: 'Nothing here yet.',
  tooDifferent: 'Too different to align. Showing before and after.',
  diff: 'Changes in the file',
  unchanged: (lines: number) => count(lines, 'unchanged line', 'unchanged lines'),
  showAllLines: (lines: number) => `Show all ${count(lines, 'line', 'lines')}`,
  emptyFile: 'Both are empty.',
  lineMarks: {cut: 'The line goes on.', bare: 'No newline at the end.'},
} as const;
