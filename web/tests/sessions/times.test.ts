import {expect, test} from 'vitest';
import {duration, relative, shortAge} from '../../src/sessions/times.ts';

const NOW = Date.UTC(2026, 10, 16, 12);
test.each([
  [30, 'now'],
  [120, '2m'],
  [3 * 3600, '3h'],
  [2 * 86400, '2d'],
])('%d seconds ago is %s', (seconds, text) => expect(shortAge(NOW - seconds * 1000, NOW)).toBe(text));
test('a future moment is now, should clocks differ', () => expect(shortAge(NOW + 5000, NOW)).toBe('now'));
test.each([
  [3 * 3600, 'in 3 hours'],
  [86400, 'tomorrow'],
  [-120, '2 minutes ago'],
  [0, 'now'],
])('%d seconds from now is %s', (seconds, text) => expect(relative(NOW + seconds * 1000, NOW)).toBe(text));
test.each([
  [12_300, '12 s'],
  [180_000, '3 min'],
  [7_500_000, '2 h 5 min'],
])('%d ms', (ms, text) => expect(duration(ms)).toBe(text));
