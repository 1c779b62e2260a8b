/** The times at which an automation runs, chosen by name or written as cron. */
import {Plus, X} from 'lucide';
import {Button} from '../ui/button.tsx';
import {words} from '../words/index.ts';
import {type Schedule, clockOf, expressionOf, scheduleOf, weekdayName} from './schedule.ts';

const KINDS: readonly Schedule['every'][] = ['hour', 'day', 'workday', 'week', 'custom'];
const DEFAULT_HOUR = 9;
const WEEKDAYS = [1, 2, 3, 4, 5, 6, 0];

export interface ScheduleFieldsProps {
  readonly schedules: readonly string[];
  readonly onChange: (schedules: readonly string[]) => void;
}

export function ScheduleFields({schedules, onChange}: ScheduleFieldsProps) {
  return (
    <div class="automations-schedules">
      {!schedules.length && <p class="forms-about">{words.automations.byHand}</p>}
      {schedules.map((expression, index) => (
        <div class="automations-schedule" key={index}>
          <ScheduleRow number={index + 1} schedule={scheduleOf(expression)} onChange={changed => onChange(schedules.with(index, expressionOf(changed)))} />
          <Button kind="quiet" icon={X} label={words.automations.removeSchedule(index + 1)} onClick={() => onChange(schedules.filter((_, at) => at !== index))} />
        </div>
      ))}
      <Button icon={Plus} onClick={() => onChange([...schedules, expressionOf({every: 'day', hour: DEFAULT_HOUR, minute: 0})])}>{words.automations.addSchedule}</Button>
    </div>
  );
}

/** A schedule of another kind, with as much of the old one as it has. */
function turned(schedule: Schedule, every: Schedule['every']): Schedule {
  const hour = 'hour' in schedule ? schedule.hour : DEFAULT_HOUR;
  const minute = 'minute' in schedule ? schedule.minute : 0;
  switch (every) {
    case 'hour': return {every, minute};
    case 'day':
    case 'workday': return {every, hour, minute};
    case 'week': return {every, weekday: 1, hour, minute};
    // A step is what none of the other kinds can say, so that the expression is not read back as one of them.
    case 'custom': return {every, expression: `*/30 ${hour} * * *`};
  }
}

function ScheduleRow({number, schedule, onChange}: {number: number; schedule: Schedule; onChange(schedule: Schedule): void}) {
  const texts = words.automations;
  const setTime = (text: string): void => {
    const [hour, minute] = text.split(':').map(Number);
    if (hour !== undefined && minute !== undefined && !Number.isNaN(hour + minute) && 'hour' in schedule) onChange({...schedule, hour, minute});
  };
  return (
    <>
      <select class="forms-input" aria-label={texts.everyLabel(number)} value={schedule.every} onChange={event => onChange(turned(schedule, event.currentTarget.value as Schedule['every']))}>
        {KINDS.map(kind => <option key={kind} value={kind}>{texts.every[kind]}</option>)}
      </select>
      {schedule.every === 'week' && (
        <select class="forms-input" aria-label={texts.weekday(number)} value={String(schedule.weekday)} onChange={event => onChange({...schedule, weekday: Number(event.currentTarget.value)})}>
          {WEEKDAYS.map(day => <option key={day} value={String(day)}>{weekdayName(day)}</option>)}
        </select>
      )}
      {'hour' in schedule && (
        <input class="forms-input" type="time" aria-label={texts.time(number)} value={clockOf(schedule.hour, schedule.minute)} onChange={event => setTime(event.currentTarget.value)} />
      )}
      {schedule.every === 'hour' && (
        <input
          class="forms-input" type="number" min={0} max={59} aria-label={texts.minute(number)} value={schedule.minute}
          onChange={event => onChange({every: 'hour', minute: Math.min(59, Math.max(0, Number(event.currentTarget.value) || 0))})}
        />
      )}
      {schedule.every === 'custom' && (
        <input
          class="forms-input automations-cron" aria-label={texts.expression(number)} placeholder={texts.expressionHint} spellcheck={false} value={schedule.expression}
          onChange={event => onChange({every: 'custom', expression: event.currentTarget.value})}
        />
      )}
    </>
  );
}
