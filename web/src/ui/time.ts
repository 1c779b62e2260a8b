/** Times in words, and a signal that makes them age. */
import {type ReadonlySignal, signal} from '@preact/signals';

const TICK = 15_000;
const clock = signal(Date.now());
let timer: ReturnType<typeof setInterval> | undefined;

/** The time, in milliseconds since the epoch, every fifteen seconds; start once per page. */
export const now: ReadonlySignal<number> = clock;

/** Let the clock run. */
export function startClock(): void {
  timer ??= setInterval(() => void (clock.value = Date.now()), TICK);
}

const UNITS: readonly [seconds: number, sign: string][] = [[31_536_000, 'y'], [604_800, 'w'], [86_400, 'd'], [3600, 'h'], [60, 'm']];

/** How long ago, short: "now", "2m", "3h", "5d". */
export function age(since: number, at = clock.value): string {
  const seconds = (at - since) / 1000;
  const unit = UNITS.find(([size]) => seconds >= size);
  return unit ? `${Math.floor(seconds / unit[0])}${unit[1]}` : 'now';
}

const hours = new Intl.DateTimeFormat(undefined, {hour: '2-digit', minute: '2-digit', hourCycle: 'h23'});
const days = new Intl.DateTimeFormat(undefined, {day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', hourCycle: 'h23'});

/** The hour and minute, with the day where it is not today. */
export function clockTime(time: number | string): string {
  const at = new Date(time);
  if (Number.isNaN(at.getTime())) return '';
  return (at.toDateString() === new Date().toDateString() ? hours : days).format(at);
}

/** How long something took: "0.4 s", "12 s", "3 min 5 s". */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.max(0.1, ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return seconds % 60 ? `${minutes} min ${seconds % 60} s` : `${minutes} min`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
