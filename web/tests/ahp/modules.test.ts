/** The small modules of the core, and the rule that it depends on nothing but itself. */
import {readFileSync, readdirSync} from 'node:fs';
import {dirname, join, resolve} from 'node:path';
import {fileURLToPath} from 'node:url';
import {describe, expect, test} from 'vitest';
import {approval, decided, denial, inputCompleted, userMessage} from '../../src/ahp/actions.ts';
import {afterClose, afterRefusal, delay} from '../../src/ahp/backoff.ts';
import {SessionList, kindOfState, listSessions, mayDispatch, reduce} from '../../src/ahp/index.ts';
import {cut, printed} from '../../src/ahp/scrollback.ts';
import {canonical, chatUri, contentName, decoded, defaultChatUri, encoded, workerOf} from '../../src/ahp/uris.ts';
import {type Json, frozen} from './corpus.ts';

const CORE = fileURLToPath(new URL('../../src/ahp', import.meta.url));

test('the core imports only itself, and asks no browser, clock or chance', () => {
  const names = readdirSync(CORE, {recursive: true, encoding: 'utf8'}).filter(name => name.endsWith('.ts') && name !== 'types.ts');
  for (const name of names) {
    const text = readFileSync(join(CORE, name), 'utf8');
    for (const [, path] of text.matchAll(/(?:from|import) '([^']+)'/g)) {
      expect(resolve(dirname(join(CORE, name)), path!).startsWith(CORE) && path!.startsWith('.'), `${name} imports ${path}`).toBe(true);
    }
    expect(text, name).not.toMatch(/\b(document|window|localStorage|fetch|setTimeout|Date\.now|Math\.random|crypto)(\.\w|\()/);
    expect(text.split('\n').length, `lines of ${name}`).toBeLessThanOrEqual(401);
  }
});

describe('reducers without published fixtures', () => {
  const run: Json = frozen({automation: 'a', lifecycle: {status: 'running'}, sessions: ['s', 't'], primarySession: 's'});
  const on = (action: Json): Json => reduce('automationRun', run, action);

  test('of automation runs', () => {
    expect(on({type: 'automationRun/sessionRemoved', session: 's'})).toEqual({automation: 'a', lifecycle: {status: 'running'}, sessions: ['t']});
    expect(on({type: 'automationRun/sessionRemoved', session: 't'}).primarySession).toBe('s');
    expect(on({type: 'automationRun/sessionRemoved', session: 'x'})).toBe(run);
    expect(on({type: 'automationRun/sessionSet', session: 't'})).toBe(run);
    expect(on({type: 'automationRun/sessionSet', session: 'u'}).sessions).toEqual(['s', 't', 'u']);
    expect(on({type: 'automationRun/primarySessionChanged'})).not.toHaveProperty('primarySession');
    expect(on({type: 'automationRun/lifecycleChanged', lifecycle: {status: 'running'}})).toBe(run);
    expect(on({type: 'automationRun/cancelRequested'})).toBe(run);
  });

  test('of canvases', () => {
    const canvas: Json = frozen({instanceId: 'i', canvasId: 'c', title: 'T'});
    expect(reduce('canvas', canvas, {type: 'canvas/stateChanged', canvas: {instanceId: 'i', canvasId: 'c'}} as Json)).toEqual({instanceId: 'i', canvasId: 'c'});
    expect(reduce('canvas', canvas, {type: 'canvas/stateChanged', canvas: null} as Json)).toBe(canvas);
  });

  test('of unknown actions and of other kinds change nothing', () => {
    expect(on({type: 'automationRun/unheardOf'})).toBe(run);
    expect(on({type: 'session/ready'})).toBe(run);
    expect(on({})).toBe(run);
  });
});

test('a turn that started without a time zone ended in UTC', () => {
  const state: Json = frozen({status: 8, turns: [], modifiedAt: '', activeTurn: {id: 't', startedAt: '2026-01-01T00:00:00', message: {}, responseParts: []}});
  const end = (startedAt: string): Json =>
    reduce('chat', {...state, activeTurn: {...state.activeTurn, startedAt}}, {type: 'chat/turnComplete', turnId: 't', duration: 1500} as Json).modifiedAt;
  expect(end('2026-01-01T00:00:00')).toBe('2026-01-01T00:00:01.500Z');
  expect(end('2026-01-01T02:00:00+02:00')).toBe('2026-01-01T00:00:01.500Z');
  expect(end('yesterday')).toBe('');
});

test('states are told apart by their keys', () => {
  expect(kindOfState({agents: []})).toBe('root');
  expect(kindOfState({lifecycle: 'ready', activeClients: []})).toBe('session');
  expect(kindOfState({automation: 'a', sessions: [], lifecycle: {}})).toBe('automationRun');
  expect([kindOfState({}), kindOfState(null), kindOfState([])]).toEqual([undefined, undefined, undefined]);
});

test('clients may dispatch what is theirs', () => {
  expect(['chat/turnStarted', 'terminal/input', 'session/ready', 'chat/delta', 'x'].map(mayDispatch)).toEqual([true, true, false, false, false]);
});

test('delays double up to a bound, and a refusal for good ends the trying', () => {
  expect([delay(0, 1), delay(1, 1), delay(99, 1), delay(3, 0), delay(0, 0.5, 900)]).toEqual([250, 500, 30_000, 0, 900]);
  expect(afterClose(1008, 'superseded by another connection', true)).toBe('superseded');
  expect([afterClose(1008, 'token revoked', true), afterClose(1008, '', false), afterClose(1006, '', true)]).toEqual(['refused', 'retry', 'retry']);
  expect([afterRefusal(-32007), afterRefusal(-32603)]).toEqual(['refused', 'retry']);
});

test('URIs', () => {
  expect(decoded(encoded('ahp-session:/ä'))).toBe('ahp-session:/ä');
  expect(chatUri('ahp-session:/1', 'x')).toBe('ahp-chat://x/YWhwLXNlc3Npb246LzE');
  expect(defaultChatUri('ahp-session:/1')).toBe('ahp-chat://default/YWhwLXNlc3Npb246LzE');
  expect(workerOf('ahp-chat://subagent/YWhwLXNlc3Npb246LzE/call-1')).toEqual({session: 'ahp-session:/1', call: 'call-1'});
  expect(workerOf('ahp-chat://default/x')).toBeUndefined();
  expect([canonical('ahp-root:'), canonical('ahp-automations:/x'), canonical('a:/b')]).toEqual(['ahp-root://', 'ahp-automations://', 'a:/b']);
  expect(['ahp-content:/src/a.ts?id', 'ahp-content:/id/a.ts', 'ahp-content:/id'].map(contentName)).toEqual(['/src/a.ts', 'a.ts', undefined]);
});

test('a terminal that is cut keeps its newest lines, and commands that run', () => {
  const state: Json = frozen({content: [
    {type: 'command', commandId: 'a', output: 'x'.repeat(50), isComplete: false},
    {type: 'unclassified', value: `${'y'.repeat(500)}\nlast\n`},
  ]});
  const left = cut(state, 300, 100);
  expect(printed(left)).toBe('last\n');
  expect(left.content[0]).toMatchObject({commandId: 'a', output: ''});
  expect(cut(state, 10_000)).toBe(state);
});

test('actions are built as the host wants them', () => {
  const call = {toolCallId: 'c', status: 'pending-confirmation'};
  expect(approval('t', call, {option: 'once', editedInput: 'ls'})).toEqual({
    type: 'chat/toolCallConfirmed', turnId: 't', toolCallId: 'c', approved: true, confirmed: 'user-action', editedToolInput: 'ls', selectedOptionId: 'once',
  });
  expect(approval('t', {...call, status: 'pending-result-confirmation'})).toEqual({type: 'chat/toolCallResultConfirmed', turnId: 't', toolCallId: 'c', approved: true});
  expect(denial('t', call, {suggestion: 'no'})).toMatchObject({approved: false, reason: 'denied', userSuggestion: userMessage('no')});
  expect(inputCompleted('r', 'cancel')).toEqual({type: 'chat/inputCompleted', requestId: 'r', response: 'cancel'});
  const session = {customizations: [{id: 'p', children: [{id: 'x', enablement: [{kind: 'global', enabled: true}]}]}]};
  expect(decided(session, 'x', false, 'file:///w')).toEqual([{kind: 'workspace', uri: 'file:///w', enabled: false}, {kind: 'global', enabled: true}]);
});

const summary = (resource: string, more: Json = {}): Json => ({resource, provider: 'demo', title: resource, status: 1, ...more});

describe('the list of sessions', () => {
  test('is read page by page', async () => {
    const pages: Json = {first: {items: [summary('a')], nextCursor: 'next'}, next: {items: [summary('b')]}};
    const listed = await listSessions({request: async (_: Json, params: Json) => pages[params.cursor ?? 'first']});
    expect(listed.map(found => found.resource)).toEqual(['a', 'b']);
  });

  test('follows the notices, those told while it is read included', async () => {
    let give: ((listed: Json[]) => void) | undefined;
    const list = new SessionList(() => new Promise(resolve => { give = resolve; }));
    const reading = list.refresh();
    list.notice('root/sessionAdded', {summary: summary('b')});
    list.notice('root/sessionRemoved', {session: 'c'});
    give?.([summary('a', {activity: 'Thinking'}), summary('c')]);
    await reading;
    expect([...list.sessions.keys()]).toEqual(['a', 'b']);
    list.notice('root/sessionSummaryChanged', {session: 'a', changes: {title: 'New', activity: '', resource: 'x'}});
    expect(list.sessions.get('a')).toEqual(summary('a', {title: 'New'}));
  });
});
