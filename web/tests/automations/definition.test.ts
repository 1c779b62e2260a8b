import {expect, test} from 'vitest';
import {changesOf, definitionOf, draftOf, emptyDraft} from '../../src/automations/definition.ts';
import {expressionOf, scheduleOf} from '../../src/automations/schedule.ts';

test.each([
  ['15 * * * *', {every: 'hour', minute: 15}],
  ['30 9 * * *', {every: 'day', hour: 9, minute: 30}],
  ['0 7 * * 1-5', {every: 'workday', hour: 7, minute: 0}],
  ['0 7 * * 3', {every: 'week', weekday: 3, hour: 7, minute: 0}],
  ['*/5 * * * *', {every: 'custom', expression: '*/5 * * * *'}],
  ['0 0 1 * *', {every: 'custom', expression: '0 0 1 * *'}],
])('%s has a name and back', (expression, schedule) => {
  expect(scheduleOf(expression)).toEqual(schedule);
  expect(expressionOf(scheduleOf(expression))).toBe(expression);
});
test('Sunday has two numbers', () => expect(scheduleOf('0 7 * * 7')).toEqual({every: 'week', weekday: 0, hour: 7, minute: 0}));

const draft = {...emptyDraft('Europe/Berlin'), title: ' Nightly ', message: 'tidy up', schedules: ['0 3 * * *'], directory: 'file:///web'};

test('a new automation has only what was chosen', () => {
  expect(definitionOf(draft)).toEqual({
    title: 'Nightly',
    message: {text: 'tidy up', origin: {kind: 'automation'}},
    session: {workingDirectories: ['file:///web']},
    enabled: true,
    triggers: [{id: 'schedule-1', kind: 'schedule', schedule: {expression: '0 3 * * *', timeZone: 'Europe/Berlin'}, misfirePolicy: 'runOnce'}],
  });
});

test('a change names only what changed, and keeps what the form does not know', () => {
  const event = {id: 'schedule-2', kind: 'event' as const, type: 'push', title: 'Push', events: []};
  const before = {...definitionOf(draft), session: {provider: 'demo', workingDirectories: ['file:///web', 'file:///api'], agent: {uri: 'a'}}};
  const edited = {...before, triggers: [...before.triggers, event]};
  const was = draftOf(edited, 'UTC');
  expect(changesOf(edited, was)).toEqual({});
  expect(changesOf(edited, {...was, enabled: false})).toEqual({enabled: false});
  expect(changesOf(edited, {...was, provider: 'claude'})).toEqual({session: {agent: {uri: 'a'}, provider: 'claude', workingDirectories: ['file:///web', 'file:///api']}});
  const {triggers} = changesOf(edited, {...was, schedules: ['0 4 * * *', '0 5 * * *']});
  expect(triggers?.map(trigger => trigger.id)).toEqual(['schedule-1', 'schedule-3', 'schedule-2']);
});
