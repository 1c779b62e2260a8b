/** Schedules that people choose by name, and the cron expressions that hosts understand; pure. */

/** A schedule; `custom` is whatever has no simpler name. Weekdays count from Sunday, 0. */
export type Schedule =
  | {readonly every: 'hour'; readonly minute: number}
  | {readonly every: 'day' | 'workday'; readonly hour: number; readonly minute: number}
  | {readonly every: 'week'; readonly weekday: number; readonly hour: number; readonly minute: number}
  | {readonly every: 'custom'; readonly expression: string};

/** The cron expression of a schedule. */
export function expressionOf(schedule: Schedule): string {
  switch (schedule.every) {
    case 'hour':
      return `${schedule.minute} * * * *`;
    case 'day':
      return `${schedule.minute} ${schedule.hour} * * *`;
    case 'workday':
      return `${schedule.minute} ${schedule.hour} * * 1-5`;
    case 'week':
      return `${schedule.minute} ${schedule.hour} * * ${schedule.weekday}`;
    case 'custom':
      return schedule.expression;
  }
}

const NUMBER = /^\d{1,2}$/;

/** The schedule that an expression means. */
export function scheduleOf(expression: string): Schedule {
  const custom: Schedule = {every: 'custom', expression};
  const [minutes, hours, day, month, weekday, ...rest] = expression.trim().split(/\s+/);
  if (rest.length || day !== '*' || month !== '*' || !weekday || !NUMBER.test(minutes ?? '')) return custom;
  const minute = Number(minutes);
  if (hours === '*' && weekday === '*') return {every: 'hour', minute};
  if (!NUMBER.test(hours ?? '')) return custom;
  const hour = Number(hours);
  if (weekday === '*') return {every: 'day', hour, minute};
  if (/^(1-5|mon-fri)$/i.test(weekday)) return {every: 'workday', hour, minute};
  return /^[0-7]$/.test(weekday) ? {every: 'week', weekday: Number(weekday) % 7, hour, minute} : custom;
}

/** A time of day as a time field has it. */
export const clockOf = (hour: number, minute: number): string => `${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}`;

/** The name of a weekday in the reader's language. */
export function weekdayName(weekday: number): string {
  // The fourth of January 1970 was a Sunday.
  return new Date(Date.UTC(1970, 0, 4 + weekday)).toLocaleDateString(undefined, {weekday: 'long', timeZone: 'UTC'});
}
