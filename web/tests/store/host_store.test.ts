/** The store against a host that the test plays. */
import {effect} from '@preact/signals';
import {beforeEach, describe, expect, test} from 'vitest';
import {QUIET_LOSS} from '../../src/link/link.ts';
import {GATHERING, GRACE} from '../../src/store/channels.ts';
import {MOST_WAITING} from '../../src/store/waiting.ts';
import {FakeHost, type Json, chatState, sessionState, summary} from './fake_host.ts';
import {settled} from './fake_time.ts';

const S = 'ahp-session:/1';
const C = 'ahp-chat:/1';
const titled = (title: string): Json => ({type: 'session/titleChanged', title});
const WAITS = 24;

let host: FakeHost;

beforeEach(() => {
  host = new FakeHost();
});

test('who is told that the host is there finds out what it is', async () => {
  const found: unknown[] = [];
  host.store.ups.add(() => void found.push(host.store.host.value?.protocolVersion));
  await host.up();
  host.frame();
  expect(found).toEqual([host.store.core.host?.protocolVersion]);
  expect(found[0]).toBeDefined();
});

describe('following', () => {
  test('a channel shows once per frame, however much comes', async () => {
    await host.up();
    const session = host.store.session(S);
    await host.snapshot(S, sessionState('First'));
    const seen: (string | undefined)[] = [];
    effect(() => void seen.push(session.state.value?.title));
    host.frame();
    for (const title of ['a', 'b', 'c']) await host.action(S, titled(title)); // oxlint-disable-line no-await-in-loop
    expect(session.state.value?.title).toBe('First');
    host.frame();
    expect(seen).toEqual([undefined, 'First', 'c']);
    expect(session.phase.value).toBe('live');
  });

  test('what another channel says draws nothing here', async () => {
    await host.up();
    const session = host.store.session(S);
    await host.snapshot(S, sessionState('First'));
    host.store.session('ahp-session:/2');
    await host.snapshot('ahp-session:/2', sessionState('Other'));
    host.frame();
    let draws = 0;
    effect(() => {
      void session.state.value;
      draws += 1;
    });
    await host.action('ahp-session:/2', titled('x'));
    host.frame();
    expect(draws).toBe(1);
  });

  test('two followers share one subscription; it ends a while after both have let go', async () => {
    await host.up();
    const one = host.store.session(S);
    const other = host.store.session(S);
    await host.snapshot(S, sessionState('First'));
    expect(host.count('subscribe')).toBe(1);
    one.release();
    one.release();
    host.timer.pass(GRACE);
    expect(host.count('unsubscribe')).toBe(0);
    other.release();
    host.timer.pass(GRACE - 1);
    expect(host.count('unsubscribe')).toBe(0);
    host.timer.pass(1);
    expect(host.last('unsubscribe').params).toEqual({channel: S});
  });

  test('coming back within the grace asks for nothing and shows at once', async () => {
    await host.up();
    host.store.session(S).release();
    await host.snapshot(S, sessionState('First'));
    host.frame();
    host.timer.pass(GRACE - 1);
    const again = host.store.session(S);
    expect(again.state.value?.title).toBe('First');
    host.timer.pass(10 * GRACE);
    expect([host.count('subscribe'), host.count('unsubscribe')]).toEqual([1, 0]);
  });

  test('without a connection the last state stays, and is said to be stale', async () => {
    await host.up();
    const session = host.store.session(S);
    await host.snapshot(S, sessionState('First'));
    host.lose();
    host.frame();
    expect([session.phase.value, session.state.value?.title]).toEqual(['stale', 'First']);
  });

  test('a session that is removed is gone with its reason, and back when it was restored', async () => {
    await host.up([summary(S)]);
    const session = host.store.session(S);
    await host.snapshot(S, sessionState('First'));
    host.notice('root/sessionRemoved', {session: S});
    host.frame();
    expect([session.phase.value, session.gone.value, session.state.value?.title]).toEqual(['gone', 'the session was removed', 'First']);
    host.notice('root/sessionAdded', {summary: summary(S)});
    await host.snapshot(S, sessionState('Restored'));
    host.frame();
    expect([session.phase.value, session.gone.value, session.state.value?.title]).toEqual(['live', undefined, 'Restored']);
  });

  test('a channel that turns out to be something else is not shown as what it is not', async () => {
    await host.up();
    const terminal = host.store.channel('terminal', S);
    await host.snapshot(S, sessionState('First'));
    host.frame();
    expect([terminal.phase.value, terminal.state.value]).toEqual(['gone', undefined]);
  });

  test('of a chat the newest turns are asked for, and older ones one page at a time', async () => {
    await host.up();
    const chat = host.store.chat(C, 5);
    expect(host.last('subscribe').params).toMatchObject({channel: C, view: {turns: 5}, delivery: {maxLatencyMs: GATHERING}});
    await host.snapshot(C, chatState(C, {turnsNextCursor: 'older'}));
    host.frame();
    expect(chat.mayLoad.value).toBe(true);
    const loads = [chat.loadEarlier(), chat.loadEarlier()];
    expect(host.count('fetchTurns')).toBe(1);
    await host.answer('fetchTurns', {});
    expect(await Promise.all(loads)).toEqual([true, true]);
    host.lose();
    host.frame();
    expect(chat.mayLoad.value).toBe(false);
  });
});

describe('acting', () => {
  test('shows at once, and is done with the frame that shows the echo', async () => {
    await host.up();
    const session = host.store.session(S);
    await host.snapshot(S, sessionState('First'));
    host.frame();
    const act = host.store.act(S, titled('Mine'));
    host.frame();
    expect([session.state.value?.title, act.phase.value]).toEqual(['Mine', 'pending']);
    await host.action(S, titled('Mine'), host.last('dispatchAction').params.clientSeq);
    expect(act.phase.value).toBe('pending');
    host.frame();
    expect(act.phase.value).toBe('done');
  });

  test('that is refused says why, and is taken back', async () => {
    await host.up();
    const session = host.store.session(S);
    await host.snapshot(S, sessionState('First'));
    const act = host.store.act(S, titled('Mine'));
    await host.action(S, titled('Mine'), host.last('dispatchAction').params.clientSeq, {rejectionReason: 'not yours'});
    host.frame();
    expect([act.phase.value, act.text.value, session.state.value?.title]).toEqual(['refused', 'not yours', 'First']);
  });

  test('without a connection is not kept for later', async () => {
    await host.up();
    host.store.session(S);
    await host.snapshot(S, sessionState('First'));
    host.lose();
    await Promise.resolve();
    host.timer.pass(999);
    host.events = undefined;
    host.timer.pass(1_000);
    host.frame();
    const act = host.store.act(S, titled('Mine'));
    expect(act.phase.value).toBe('notSent');
    expect(host.count('dispatchAction')).toBe(0);
  });
});

test('what was done in a short loss is sent after it, in a longer one it is not', async () => {
  await host.up();
  const session = host.store.session(S);
  await host.snapshot(S, sessionState('First'));
  host.frame();
  host.lose();
  const act = host.store.act(S, titled('Mine'));
  host.frame();
  expect([session.state.value?.title, act.phase.value]).toEqual(['Mine', 'pending']);
  host.timer.pass(QUIET_LOSS);
  await settled();
  host.frame();
  expect([session.state.value?.title, act.phase.value, host.store.live.value]).toEqual(['First', 'notSent', 'reconnecting']);
});

test('who this page is at the host is asked again after a loss, for the role may be another one', async () => {
  await host.up([], {'agenthost/me': {name: 'ana', role: 'operator'}});
  expect([host.store.me.value?.role, host.count('agenthost/about')]).toEqual(['operator', 0]);
  host.lose();
  host.timer.pass(1);
  host.events?.opened();
  await host.answer('reconnect', {type: 'replay', actions: [], missing: []});
  await host.answer('agenthost/about', {me: {name: 'ana', role: 'viewer'}, page: 'b2'});
  host.frame();
  expect(host.store.me.value).toEqual({name: 'ana', role: 'viewer'});
});

describe('sessions', () => {
  test('are listed, and follow what the host tells', async () => {
    await host.up([summary(S)]);
    expect(host.store.sessions.value.map(({title}) => title)).toEqual([S]);
    host.notice('root/sessionSummaryChanged', {session: S, changes: {title: 'New'}});
    host.notice('root/sessionAdded', {summary: summary('ahp-session:/2')});
    host.frame();
    expect(host.store.sessions.value.map(({title}) => title)).toEqual(['New', 'ahp-session:/2']);
  });

  test('are read anew after every handshake', async () => {
    await host.up([summary(S)]);
    host.lose();
    host.timer.pass(1);
    host.events?.opened();
    await host.answer('reconnect', {type: 'replay', actions: [], missing: []});
    await host.answer('listSessions', {items: []});
    host.frame();
    expect(host.store.sessions.value).toEqual([]);
  });

  test('count as listed once the host has told them all, or what was kept is shown', async () => {
    host.notice('root/sessionAdded', {summary: summary(S)});
    host.frame();
    expect(host.store.listed.value).toBe(false);
    await host.up([]);
    expect(host.store.listed.value).toBe(true);
    const other = new FakeHost();
    other.store.primeList([], 5);
    expect(other.store.listed.value).toBe(true);
  });

  test('of old are shown until the host tells', async () => {
    host.store.primeList([summary(S)], 5);
    expect([host.store.sessions.value.length, host.store.since.value]).toEqual([1, 5]);
    await host.up([]);
    expect(host.store.sessions.value).toEqual([]);
  });
});

describe('waiting', () => {
  const request = (id: string, kind = 'toolConfirmation'): Json => ({id, chat: C, kind, turnId: 't', toolCall: {toolCallId: id}});

  test('sessions alone are followed for it, and only while they wait', async () => {
    await host.up([summary(S, {status: WAITS}), summary('ahp-session:/2')]);
    expect(host.sent.filter(frame => frame.method === 'subscribe').map(frame => frame.params.channel)).toEqual([S]);
    await host.snapshot(S, sessionState('First', {inputNeeded: [request('r')]}));
    host.frame();
    expect(host.store.waiting.value).toMatchObject([{session: S, chat: C, request: {id: 'r'}}]);
    host.notice('root/sessionSummaryChanged', {session: S, changes: {status: 1}});
    host.frame();
    expect(host.store.waiting.value).toEqual([]);
    host.timer.pass(GRACE);
    expect(host.last('unsubscribe').params.channel).toBe(S);
  });

  test('of very many, those are followed that wait longest', async () => {
    const many = Array.from({length: MOST_WAITING + 1}, (_, n) => summary(`ahp-session:/${n}`, {status: WAITS, modifiedAt: new Date(1e6 - 1000 * n).toISOString()}));
    await host.up(many);
    const followed = host.sent.filter(frame => frame.method === 'subscribe').map(frame => frame.params.channel);
    expect(followed).toHaveLength(MOST_WAITING);
    expect(followed).not.toContain('ahp-session:/0');
  });

  test('what one session gets wrong hides nothing of the others', async () => {
    const T = 'ahp-session:/2';
    await host.up([summary(S, {status: WAITS}), summary(T, {status: WAITS})]);
    await host.snapshot(S, sessionState('S', {inputNeeded: 7}));
    await host.snapshot(T, sessionState('T', {inputNeeded: [null, {}, request('t')]}));
    host.frame();
    expect(host.store.waiting.value.map(waiting => waiting.request.id)).toEqual(['t']);
  });

  test('the longest waiting comes first, and a change elsewhere moves nothing', async () => {
    const T = 'ahp-session:/2';
    await host.up([summary(S, {status: WAITS, modifiedAt: '1970-01-01T00:00:20Z'}), summary(T, {status: WAITS, modifiedAt: '1970-01-01T00:00:10Z'})]);
    await host.snapshot(S, sessionState('S', {inputNeeded: [request('s')]}));
    await host.snapshot(T, sessionState('T', {inputNeeded: [request('t')]}));
    host.frame();
    const first = host.store.waiting.value;
    expect(first.map(waiting => waiting.request.id)).toEqual(['t', 's']);
    host.notice('root/sessionSummaryChanged', {session: T, changes: {modifiedAt: '2000-01-01T00:00:00Z', title: 'T2'}});
    await host.action(T, titled('T2'));
    host.frame();
    expect(host.store.waiting.value).toBe(first);
  });

  test('tools that a client runs are not for people', async () => {
    await host.up([summary(S, {status: WAITS})]);
    await host.snapshot(S, sessionState('S', {inputNeeded: [request('x', 'toolClientExecution')]}));
    host.frame();
    expect(host.store.waiting.value).toEqual([]);
  });
});

test('who we are comes from the host, and from what was kept before it has told', async () => {
  const viewer = new FakeHost({me: {name: 'phone', role: 'viewer'}});
  expect(viewer.store.me.value).toEqual({name: 'phone', role: 'viewer'});
  await viewer.up([], {'agenthost/me': {name: 'desk', role: 'operator'}});
  expect(viewer.store.me.value).toEqual({name: 'desk', role: 'operator'});
});

test('signing out forgets everything and ends the connection', async () => {
  let forgotten = 0;
  const leaving = new FakeHost({forgetAll: () => Promise.resolve(void (forgotten += 1))});
  await leaving.up();
  await leaving.store.signOut();
  leaving.frame();
  expect([forgotten, leaving.store.live.value]).toEqual([1, 'signedOut']);
});
