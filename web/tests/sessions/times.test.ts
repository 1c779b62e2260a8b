import {expect, test} from 'vitest';
import {relative} from '../../src/sessions/times.ts';

const NOW = Date.UTC(2026, 10, 16, 12);
test.each([
  [3 * 3600, 'in 3 hours'],
  [86400, 'tomorrow'],
  [-120, '2 minutes ago'],
  [0, 'now'],
])('%d seconds from now is %s', (seconds, text) => expect(relative(NOW + seconds * 1000, NOW)).toBe(text));
