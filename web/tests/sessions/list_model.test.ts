import {describe, expect, test} from 'vitest';
import type {SessionSummary} from '../../src/ahp/index.ts';
import {ERROR, IDLE, IN_PROGRESS, INPUT_NEEDED, IS_ARCHIVED, IS_READ} from '../../src/ahp/status.ts';
import {askOf, offerOf, type WaitingRequest} from '../../src/sessions/asks.ts';
import {keptAt, loose, steadied} from '../../src/sessions/freeze.ts';
import {type ListInput, type Section, projectOf, sections} from '../../src/sessions/list_model.ts';
import {find} from '../../src/sessions/search.ts';

const minute = (n: number): string => new Date(Date.UTC(2026, 10, 16, 8, n)).toISOString();

function session(id: string, changes: Partial<SessionSummary> = {}): SessionSummary {
  return {
    resource: `ahp-session:/${id}`,
    provider: 'demo',
    title: id,
    status: IDLE | IS_READ,
    createdAt: minute(0),
    modifiedAt: minute(1),
    ...changes,
  };
}

function waiting(id: string, since: number, call: object = {}): WaitingRequest {
  const toolCall = {toolCallId: 'c', toolName: 'run', displayName: 'Run', invocationMessage: 'Run npm test', toolInput: 'npm test', status: 'pending-confirmation', ...call};
  const chat = `ahp-chat://default/${id}`;
  return {session: `ahp-session:/${id}`, chat, since, request: {id: `r-${id}-${since}`, chat, kind: 'toolConfirmation', turnId: 't', toolCall} as never};
}

const list = (input: Partial<ListInput>): readonly Section[] =>
  sections({sessions: [], waiting: [], shown: 'current', muted: new Set(), hidden: new Set(), ...input});
const names = (made: readonly Section[]): string[][] => made.map(section => section.rows.map(row => row.title));

describe('the order of the list', () => {
  test('what waits comes first, the longest waiting on top', () => {
    const made = list({
      sessions: [session('idle', {modifiedAt: minute(9)}), session('late', {status: INPUT_NEEDED}), session('early', {status: INPUT_NEEDED})],
      waiting: [waiting('late', 2000), waiting('early', 1000)],
    });
    expect(names(made)).toEqual([['early', 'late'], ['idle']]);
    expect(made[0]!.kind).toBe('needs');
  });

  test('a session that needs input is listed as such before its requests are known', () => {
    const made = list({sessions: [session('a', {status: INPUT_NEEDED})]});
    expect(made[0]).toMatchObject({kind: 'needs', rows: [{activity: 'needs', ask: undefined}]});
  });

  test('a request that a client carries out is not for people', () => {
    const request = {...waiting('a', 1), request: {...waiting('a', 1).request, kind: 'toolClientExecution'} as never};
    expect(list({sessions: [session('a', {status: IN_PROGRESS})], waiting: [request]})[0]!.kind).toBe('project');
  });

  test('projects by their last change, and in one the working sessions first', () => {
    const web = {project: {uri: 'file:///web', displayName: 'web'}};
    const api = {project: {uri: 'file:///api', displayName: 'api'}};
    const made = list({
      sessions: [
        session('old', {...web, modifiedAt: minute(2)}),
        session('busy', {...web, modifiedAt: minute(1), status: IN_PROGRESS}),
        session('newest', {...api, modifiedAt: minute(5), status: ERROR}),
      ],
    });
    expect(made.map(section => section.title)).toEqual(['api', 'web']);
    expect(names(made)).toEqual([['newest'], ['busy', 'old']]);
  });

  test('folders stand for projects, and those of one name are told apart', () => {
    const made = list({
      sessions: [
        session('a', {workingDirectories: ['file:///home/me/app']}),
        session('b', {workingDirectories: ['file:///srv/app/']}),
        session('c'),
      ],
    });
    expect(made.map(section => section.title).toSorted()).toEqual(['', 'app (me)', 'app (srv)']);
  });

  test('archived sessions show by the filter alone, and what waits shows whatever the filter', () => {
    const all = [session('kept', {status: IDLE | IS_ARCHIVED}), session('open'), session('asks', {status: INPUT_NEEDED})];
    expect(names(list({sessions: all}))).toEqual([['asks'], ['open']]);
    expect(names(list({sessions: all, shown: 'archived'}))).toEqual([['asks'], ['kept']]);
    expect(list({sessions: [session('old', {status: INPUT_NEEDED | IS_ARCHIVED})]})).toEqual([]);
  });

  test('unread sessions by the filter, and hidden ones never', () => {
    const all = [session('read'), session('new', {status: IDLE}), session('disposed', {status: IDLE})];
    expect(names(list({sessions: all, shown: 'unread', hidden: new Set(['ahp-session:/disposed'])}))).toEqual([['new']]);
  });
});

test('a session whose members are of other types costs the list nothing but itself', () => {
  const odd = {...(waiting('a', 1) as object), session: 'ahp-session:/a', request: {id: 'r', kind: 'chatInput', chat: 'x', request: {message: {not: 'text'}, questions: 7}}};
  expect(askOf([odd as never])).toMatchObject({kind: 'answer'});
  expect(projectOf({workingDirectories: [7]} as never)).toEqual({key: '', name: ''});
  expect(projectOf({project: {uri: 7}} as never)).toEqual({key: '7', name: ''});
});

describe('what a row offers', () => {
  const call = waiting('a', 1).request as never as {toolCall: object};
  const offer = (changes: object): unknown => offerOf({...call.toolCall, ...changes});
  test('a call to a server is not allowed where the server is not named', () => expect(offer({contributor: {kind: 'mcp', customizationId: 'm'}})).toBeUndefined());

  test('the first approving option of the host, by group and order', () => {
    const options = [
      {id: 'no', label: 'Deny', kind: 'deny', group: 0},
      {id: 'always', label: 'Always', kind: 'approve', group: 2},
      {id: 'once', label: 'Allow once', kind: 'approve', group: 1},
    ];
    expect(offer({options})).toEqual({option: 'once', label: 'Allow once'});
    expect(offer({options: options.slice(0, 1)})).toBeUndefined();
  });

  test.each([
    ['a third line', {toolInput: 'a\nb\nc'}],
    ['a long line', {toolInput: 'x'.repeat(121)}],
    ['a long title over a short input', {confirmationTitle: 'x'.repeat(121)}],
    ['a title of which the row shows the first line alone', {toolInput: undefined, confirmationTitle: 'Run ls\nand rm -rf /'}],
    ['input that is elsewhere', {toolInput: {uri: 'ahp-content:x'}}],
    ['edits', {edits: {items: [{}]}}],
    ['a risky judgement', {riskAssessment: {kind: 'judge', status: 'complete', reason: '', safety: 0.39}}],
    ['a judgement under way', {riskAssessment: {kind: 'judge', status: 'loading'}}],
    ['nothing to read', {toolInput: undefined, invocationMessage: ''}],
    ['a result to review', {status: 'pending-result-confirmation'}],
  ])('is nothing for %s', (_, changes) => expect(offer(changes)).toBeUndefined());

  test('two lines that a judge calls safe enough are approved in the row', () => {
    expect(offer({toolInput: 'a\nb\n', riskAssessment: {kind: 'judge', status: 'complete', reason: '', safety: 0.4}})).toEqual({option: undefined, label: undefined});
  });

  test('the oldest request speaks for the session, and the others are counted', () => {
    expect(askOf([waiting('a', 5), waiting('a', 3, {toolInput: 'ls'})])).toMatchObject({since: 3, input: 'ls', more: 1});
  });

  test('a question says its first line', () => {
    const request = {id: 'q', chat: 'x', kind: 'chatInput', request: {id: 'q', questions: [{id: '1', kind: 'text', message: 'Which port?\nReally'}]}} as never;
    expect(askOf([{session: 's', chat: 'x', since: 1, request}])).toMatchObject({kind: 'answer', headline: 'Which port?', offer: undefined});
  });
});

describe('the list kept still', () => {
  const before = [session('a', {modifiedAt: minute(3)}), session('b', {modifiedAt: minute(2)})];
  const shown = loose(list({sessions: before})).sections;

  test('rows stay, what is new of them shows, and moves are counted', () => {
    const fresh = list({sessions: [before[0]!, {...before[1]!, title: 'renamed', status: INPUT_NEEDED}, session('c')], waiting: [waiting('b', 1)]});
    const kept = keptAt(shown, fresh);
    expect(kept.sections.map(section => section.rows.map(row => [row.title, row.activity]))).toEqual([[['a', 'idle'], ['renamed', 'needs']]]);
    expect(kept.sections[0]!.rows[1]!.ask).toBeUndefined();
    expect(kept.updates).toBe(2);
  });

  test('one overtaking another is one update, a change in place none', () => {
    expect(keptAt(shown, list({sessions: [before[0]!, {...before[1]!, modifiedAt: minute(8)}]})).updates).toBe(1);
    expect(keptAt(shown, list({sessions: [{...before[0]!, activity: 'Reading'}, before[1]!]})).updates).toBe(0);
  });

  test('a removed session keeps its place and is gone', () => {
    const kept = keptAt(shown, list({sessions: [before[0]!]}));
    expect(kept.sections[0]!.rows.map(row => row.gone)).toEqual([false, true]);
    expect(kept.updates).toBe(1);
  });

  test('a request answered meanwhile is told as settled, never replaced by the next one', () => {
    const asks = loose(list({sessions: [session('a', {status: INPUT_NEEDED})], waiting: [waiting('a', 1)]})).sections;
    const row = keptAt(asks, list({sessions: [session('a', {status: INPUT_NEEDED})], waiting: [waiting('a', 2, {toolInput: 'rm -rf /'})]})).sections[0]!.rows[0]!;
    expect(row).toMatchObject({settled: true, ask: {input: 'npm test'}});
  });
});

test('rows that mean the same stay the same objects, those that changed do not', () => {
  const input = {sessions: [session('a', {status: INPUT_NEEDED}), session('b')], waiting: [waiting('a', 1)]};
  const before = loose(list(input)).sections;
  const after = loose(list({...input, sessions: [input.sessions[0]!, session('b', {title: 'other'})]})).sections;
  const steady = steadied(before, after);
  expect(steady[0]!.rows[0]).toBe(before[0]!.rows[0]);
  expect(steady[1]!.rows[0]).not.toBe(before[1]!.rows[0]);
  const asked = loose(list({...input, waiting: [waiting('a', 1, {options: [{id: 'x', label: 'X', kind: 'approve'}]})]})).sections;
  expect(steadied(before, asked)[0]!.rows[0]!.ask?.offer).toEqual({option: 'x', label: 'X'});
});

describe('search', () => {
  const all = [
    session('login', {title: 'Fix the login race', project: {uri: 'file:///web', displayName: 'storefront'}}),
    session('docs', {title: 'Write docs', provider: 'claude', chats: [{resource: 'c', title: 'review of chapters'}]}),
  ];
  test.each([
    ['login race', 'login'],
    ['storefront', 'login'],
    ['claude', 'docs'],
    ['chapters', 'docs'],
    ['lgoin', 'login'],
  ])('%s finds %s', (query, id) => expect(find(all, query)?.[0]).toBe(`ahp-session:/${id}`));
  test('nothing asked is no search, and no match is an empty one', () => {
    expect(find(all, '  ')).toBeUndefined();
    expect(find(all, 'zzzz')).toEqual([]);
  });
  test('a search finds archived sessions too', () => {
    expect(list({sessions: [session('x', {status: IDLE | IS_ARCHIVED})], found: ['ahp-session:/x']})).toHaveLength(1);
  });
});
