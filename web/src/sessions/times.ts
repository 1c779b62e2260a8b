/** Points in time as people say them; pure but for the reader's language. */

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const UNITS: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', DAY],
  ['hour', HOUR],
  ['minute', MINUTE],
];

/** When something is or was, seen from now: "in 3 hours", "yesterday", "2 minutes ago". */
export function relative(then: number, now: number): string {
  const format = new Intl.RelativeTimeFormat(undefined, {numeric: 'auto'});
  const distance = then - now;
  for (const [unit, size] of UNITS) {
    if (Math.abs(distance) >= size) return format.format(Math.round(distance / size), unit);
  }
  return format.format(0, 'second');
}

/** A point in time with its day and minute, in the reader's zone. */
export const exact = (then: number): string =>
  new Date(then).toLocaleString(undefined, {weekday: 'short', day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit'});
