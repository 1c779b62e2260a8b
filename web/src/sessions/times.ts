/** Points in time as people say them; pure but for the reader's language. */

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** How long ago something was, in as few letters as a list's row has: "now", "2m", "3h", "5d", else a date. */
export function shortAge(then: number, now: number): string {
  const age = now - then;
  if (age < MINUTE) return 'now';
  if (age < HOUR) return `${Math.floor(age / MINUTE)}m`;
  if (age < DAY) return `${Math.floor(age / HOUR)}h`;
  if (age < 7 * DAY) return `${Math.floor(age / DAY)}d`;
  return new Date(then).toLocaleDateString(undefined, {day: 'numeric', month: 'short'});
}

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
    if (Math.abs(distance) >= size) return format.format(Math.trunc(distance / size), unit);
  }
  return format.format(0, 'second');
}

/** A point in time with its day and minute, in the reader's zone. */
export const exact = (then: number): string =>
  new Date(then).toLocaleString(undefined, {weekday: 'short', day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit'});

/** How long something took: "12 s", "3 min", "2 h 5 min". */
export function duration(milliseconds: number): string {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
