/** When an automation runs, in words. */
import type {AutomationDefinition, AutomationEntry, AutomationRunSummary} from '../ahp/index.ts';
import {exact, relative} from '../sessions/times.ts';
import {visible} from '../ui/safe.tsx';
import {duration} from '../ui/time.ts';
import {words} from '../words/index.ts';
import {localZone} from './definition.ts';
import {clockOf, scheduleOf, weekdayName} from './schedule.ts';

/** A cron expression in words; in which time zone, where it is not the reader's. */
export function scheduleWords(expression: string, zone: string): string {
  const schedule = scheduleOf(expression);
  const texts = words.automations.words;
  const text = (): string => {
    switch (schedule.every) {
      case 'hour': return texts.hour(String(schedule.minute).padStart(2, '0'));
      case 'day': return texts.day(clockOf(schedule.hour, schedule.minute));
      case 'workday': return texts.workday(clockOf(schedule.hour, schedule.minute));
      case 'week': return texts.week(weekdayName(schedule.weekday), clockOf(schedule.hour, schedule.minute));
      case 'custom': return texts.custom(visible(schedule.expression));
    }
  };
  return zone === localZone() ? text() : texts.zone(text(), visible(zone));
}

/** All that makes an automation run. */
export function triggerWords({triggers}: AutomationDefinition): readonly string[] {
  if (!triggers.length) return [words.automations.byHand];
  return triggers.map(trigger => (trigger.kind === 'schedule' ? scheduleWords(trigger.schedule.expression, trigger.schedule.timeZone) : visible(trigger.title)));
}

/** When an automation runs next, seen from now; nothing for one that runs by hand. */
export function nextWords(entry: AutomationEntry, now: number): string {
  if (!entry.definition.triggers.length) return '';
  if (!entry.definition.enabled) return words.automations.off;
  const next = Date.parse(entry.nextRunAt ?? '');
  if (Number.isNaN(next)) return '';
  return next <= now ? words.automations.due : words.automations.next(relative(next, now), exact(next));
}

/** How a run went: what became of it, why it ran, when, and how long it took. */
export function runWords(run: Pick<AutomationRunSummary, 'lifecycle' | 'origin'>, now: number): string {
  const {lifecycle, origin} = run;
  const texts = words.automations;
  const why = origin.kind === 'trigger' ? (origin.catchUp ? texts.origin.catchUp : texts.origin.trigger) : texts.origin.manual;
  const parts = [why, relative(Date.parse(lifecycle.createdAt), now)];
  const started = 'startedAt' in lifecycle && lifecycle.startedAt ? Date.parse(lifecycle.startedAt) : undefined;
  if ('completedAt' in lifecycle && started !== undefined) parts.push(texts.took(duration(Date.parse(lifecycle.completedAt) - started)));
  return parts.join(', ');
}
