// @vitest-environment happy-dom
import {afterEach, beforeEach, describe, expect, test, vi} from 'vitest';
import type {Json} from '../../src/ahp/index.ts';
import {AutomationsPage} from '../../src/automations/page.tsx';
import {go, route} from '../../src/route.ts';
import {now} from '../../src/ui/time.ts';
import {type Shown, show} from '../fakes/render.tsx';
import {type FakeStates, fakeStore} from '../fakes/store.ts';

const CATALOGUE = 'ahp-automations://';
const entry = (id: string, changes: object = {}, definition: object = {}): Json => ({
  resource: `ahp-automation:/${id}`,
  definition: {title: id, message: {text: 'tidy up', origin: {kind: 'automation'}}, session: {}, enabled: true, triggers: [{id: 'schedule-1', kind: 'schedule', schedule: {expression: '0 9 * * *', timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone}}], ...definition},
  nextRunAt: new Date(now.peek() + 3 * 3_600_000 + 1000).toISOString(),
  runs: [],
  operations: ['update', 'remove', 'run'],
  createdAt: '2026-01-01T00:00:00Z',
  modifiedAt: '2026-01-01T00:00:00Z',
  ...changes,
});

let page: Shown;
function open(entries: Json[], states: FakeStates = {}, automations: Json = {create: {}, runCancellation: {}}): Shown {
  const answers = {resolveSessionConfig: () => ({schema: {type: 'object', properties: {}}, values: {}}), ...states.answers};
  const store = fakeStore({...states, host: {automations}, answers, root: {agents: [{provider: 'demo', displayName: 'Demo', description: '', models: []}]}, channels: {[CATALOGUE]: {entries}, ...states.channels}});
  return (page = show(<AutomationsPage />, store));
}
const type = (label: string, text: string): void => page.doing(() => {
  const id = [...page.box.querySelectorAll('label')].find(one => one.textContent === label)!.htmlFor;
  const input = page.box.querySelector<HTMLInputElement>(`[id="${id}"]`)!;
  input.value = text;
  input.dispatchEvent(new Event('input', {bubbles: true}));
});
const submit = (): void => page.doing(() => void page.find('form').dispatchEvent(new Event('submit', {bubbles: true, cancelable: true})));

beforeEach(() => go({at: 'automations'}));
afterEach(() => page.remove());

describe('the list', () => {
  test('says when each runs and runs next, in words', () => {
    open([entry('nightly'), entry('off', {nextRunAt: undefined}, {enabled: false}), entry('hand', {}, {triggers: []})]);
    const text = [...page.box.querySelectorAll('.automations-link')].map(link => link.textContent);
    expect(text[0]).toContain('Only by hand');
    expect(text[1]).toContain('Every day at 09:00');
    expect(text[1]).toContain('Next run in 3 hours');
    expect(text[2]).toContain('Switched off');
  });

  test('a host without automations says so, and one that takes no new ones has no button', () => {
    open([], {}, null);
    expect(page.box.textContent).toBe('This host has no automations.');
    page.remove();
    open([], {}, {});
    expect(page.box.textContent).not.toContain('New automation');
  });

  test('the switch asks the host and shows what was asked for until it answers', () => {
    open([entry('nightly')]);
    const box = page.find<HTMLInputElement>('[role="switch"]');
    page.doing(() => box.click());
    expect(page.store.acts[0]?.action).toEqual({type: 'automation/updateRequested', resource: 'ahp-automation:/nightly', changes: {enabled: false}});
    expect(box.checked).toBe(false);
    page.doing(() => page.store.acts[0]!.end('refused', 'not now'));
    expect(box.checked).toBe(true);
    expect(page.box.textContent).toContain('The host refused: not now');
  });

  test('the switch does not flip back between the answer and the change', () => {
    const before = entry('nightly');
    open([before]);
    const box = page.find<HTMLInputElement>('[role="switch"]');
    page.doing(() => box.click());
    page.doing(() => page.store.acts[0]!.end('done'));
    expect(box.checked).toBe(false);
    page.doing(() => page.store.apply(CATALOGUE, {type: 'automation/set', automation: {...before, definition: {...before.definition, enabled: false}}}));
    expect(box.checked).toBe(false);
    page.doing(() => page.store.apply(CATALOGUE, {type: 'automation/set', automation: {...before, definition: {...before.definition}}}));
    expect(box.checked).toBe(true);
  });

  test('a run by hand leads to the run', async () => {
    const run = {resource: 'ahp-automation-run:/r1', automation: 'ahp-automation:/nightly', origin: {kind: 'manual'}, lifecycle: {status: 'running', createdAt: new Date(now.peek()).toISOString(), startedAt: new Date(now.peek()).toISOString()}, sessions: ['ahp-session:/s1']};
    open([entry('nightly')], {answers: {runAutomation: () => ({resource: run.resource})}, channels: {[run.resource]: run}, sessions: [{resource: 'ahp-session:/s1', title: 'Made by it'}]});
    page.doing(() => page.button('Run now: nightly').click());
    await vi.waitFor(() => expect(route.value).toEqual({at: 'automations', id: 'nightly', run: 'r1'}));
    await vi.waitFor(() => expect(page.find('.automations-shown-run').textContent).toContain('Made by it'));
    page.doing(() => page.button('Cancel run').click());
    expect(page.store.acts[0]).toMatchObject({uri: run.resource, action: {type: 'automationRun/cancelRequested'}});
  });
});

describe('one automation', () => {
  test('shows its runs, with why one failed, and loads older ones', async () => {
    const runs = [{resource: 'ahp-automation-run:/r1', automation: 'x', origin: {kind: 'trigger', triggerId: 'a', catchUp: true}, lifecycle: {status: 'failed', createdAt: '2026-01-01T00:00:00Z', startedAt: '2026-01-01T00:00:00Z', completedAt: '2026-01-01T00:00:12Z', error: {errorType: 'x', message: 'no disk'}}, sessionCount: 0}];
    open([entry('nightly', {runs, runsNextCursor: 'c1'})], {answers: {fetchAutomationRuns: () => ({})}});
    page.doing(() => go({at: 'automations', id: 'nightly'}));
    const text = page.find('.automations-run').textContent;
    expect(text).toContain('Failed');
    expect(text).toContain('no disk');
    expect(text).toContain('made up for a missed one');
    expect(text).toContain('took 12 s');
    page.doing(() => page.button('Show older runs').click());
    expect(page.store.asks.at(-1)).toEqual({method: 'fetchAutomationRuns', params: {channel: CATALOGUE, automation: 'ahp-automation:/nightly', cursor: 'c1'}});
  });

  test('only what the host allows is offered', () => {
    open([entry('nightly', {operations: ['run']})]);
    page.doing(() => go({at: 'automations', id: 'nightly'}));
    expect(page.box.textContent).not.toContain('Edit');
    expect(page.box.textContent).not.toContain('Remove');
    expect(page.find<HTMLInputElement>('[role="switch"]').disabled).toBe(true);
  });

  test('is removed after a question', () => {
    open([entry('nightly')]);
    page.doing(() => go({at: 'automations', id: 'nightly'}));
    page.doing(() => page.button('Remove').click());
    expect(page.store.acts).toEqual([]);
    page.doing(() => page.find('dialog .danger').click());
    expect(page.store.acts[0]?.action).toEqual({type: 'automation/removed', resource: 'ahp-automation:/nightly'});
    expect(page.box.textContent).toContain('No automations yet.');
  });

  test('an edit sends only what changed', () => {
    open([entry('nightly')]);
    page.doing(() => go({at: 'automations', id: 'nightly'}));
    page.doing(() => page.button('Edit').click());
    type('Name', 'Weekly');
    submit();
    expect(page.store.acts[0]?.action).toEqual({type: 'automation/updateRequested', resource: 'ahp-automation:/nightly', changes: {title: 'Weekly'}});
    page.doing(() => page.store.acts[0]!.end('done'));
    expect(page.box.textContent).toContain('Runs');
  });
});

test('a new one is asked for with what was chosen, and shows once the host has it', () => {
  open([]);
  page.doing(() => page.button('New automation').click());
  submit();
  expect(page.store.acts).toEqual([]);
  type('Name', 'Nightly');
  type('Message', 'tidy up');
  page.doing(() => page.button('Add a time').click());
  submit();
  const action = page.store.acts[0]!.action as Json;
  expect(action).toMatchObject({type: 'automation/createRequested', definition: {title: 'Nightly', message: {text: 'tidy up', origin: {kind: 'automation'}}, triggers: [{schedule: {expression: '0 9 * * *'}}]}});
  page.doing(() => page.store.acts[0]!.end('done'));
  expect(route.value).toEqual({at: 'automations', id: action.resource.replace('ahp-automation:/', '')});
});
