/** The core on wires that come and go: subscribing, dispatching, resuming. */
import {beforeEach, describe, expect, test} from 'vitest';
import {ACTION_PATIENCE, Core, LinkLost, WireError} from '../../src/ahp/index.ts';
import type {Json} from './corpus.ts';

const NOW = '2026-01-01T00:00:00.000Z';
const S = 'ahp-session:/1';
const C = 'ahp-chat:/1';
const session = (title: string): Json => ({provider: 'demo', title, status: 1, lifecycle: 'ready', activeClients: [], chats: []});
const chat = (...ids: string[]): Json => ({title: '', status: 1, modifiedAt: NOW, turns: ids.map(id => ({id, state: 'complete', responseParts: []}))});
const titled = (title: string): Json => ({type: 'session/titleChanged', title});

class FakeTimer {
  private time = 0;
  private due: {at: number; run: () => void}[] = [];
  now = (): number => this.time;
  after = (ms: number, run: () => void): (() => void) => {
    const entry = {at: this.time + ms, run};
    this.due.push(entry);
    return () => { this.due = this.due.filter(other => other !== entry); };
  };
  pass(ms: number): void {
    this.time += ms;
    const ripe = this.due.filter(entry => entry.at <= this.time);
    this.due = this.due.filter(entry => entry.at > this.time);
    for (const entry of ripe) entry.run();
  }
}

class FakeWire {
  readonly sent: Json[] = [];
  send = (frame: Json): void => { this.sent.push(frame); };
  close = (): void => {};
  last = (method: string): Json => this.sent.findLast(frame => frame.method === method);
  count = (method: string): number => this.sent.filter(frame => frame.method === method).length;
}

let timer: FakeTimer;
let core: Core;
let wire: FakeWire;

const answer = (method: string, result: Json): void => core.receive({jsonrpc: '2.0', id: wire.last(method).id, result});
const refuse = (method: string, code: number): void => core.receive({jsonrpc: '2.0', id: wire.last(method).id, error: {code, message: 'no'}});
const tell = (channel: string, serverSeq: number, action: Json, clientSeq?: number, more: Json = {}): void =>
  core.receive({jsonrpc: '2.0', method: 'action', params: envelope(channel, serverSeq, action, clientSeq, more)});
const envelope = (channel: string, serverSeq: number, action: Json, clientSeq?: number, more: Json = {}): Json =>
  ({channel, serverSeq, action, ...(clientSeq === undefined ? {} : {origin: {clientId: 'me', clientSeq}}), ...more});
const snapshot = (resource: string, state: Json, fromSeq: number): Json => ({resource, state, fromSeq});
const state = (uri: string): Json => core.channels.get(uri)?.mirror?.state;

function attach(): Promise<string> {
  wire = new FakeWire();
  return core.attach(wire);
}

async function opened(): Promise<void> {
  core.follow(S);
  const attached = attach();
  answer('initialize', {protocolVersion: '1.0.0', serverSeq: 10, snapshots: [snapshot(S, session('First'), 10)]});
  expect(await attached).toBe('fresh');
}

beforeEach(() => {
  timer = new FakeTimer();
  core = new Core({clientId: 'me', firstSeq: 1, timer, introduce: () => ({protocolVersions: ['1.0.0']}) as Json});
});

test('what is followed is asked for in the handshake, chats with a window behind it', async () => {
  core.follow(C, {turns: 30});
  await opened();
  expect(wire.last('initialize').params.initialSubscriptions).toEqual([S]);
  expect(wire.last('subscribe').params).toEqual({channel: C, view: {turns: 30}});
  expect(state(S).title).toBe('First');
});

test('actions that overtake a snapshot are applied behind it, and older ones are not', async () => {
  await opened();
  core.follow('ahp-session:/2');
  tell('ahp-session:/2', 11, titled('Older'));
  tell('ahp-session:/2', 13, titled('Newer'));
  answer('subscribe', {snapshot: snapshot('ahp-session:/2', session('Snapshot'), 12)});
  expect(state('ahp-session:/2').title).toBe('Newer');
});

describe('an action of ours', () => {
  test('shows at once, is sent, and ends with its echo', async () => {
    await opened();
    const {seq, outcome} = core.dispatch(S, titled('Mine'));
    expect(state(S).title).toBe('Mine');
    expect(wire.last('dispatchAction').params).toEqual({channel: S, clientSeq: seq, action: titled('Mine')});
    tell(S, 11, titled('Mine'), seq);
    expect(await outcome).toEqual({ok: true});
  });

  test('is taken back when the host refuses', async () => {
    await opened();
    const {seq, outcome} = core.dispatch(S, titled('Mine'));
    tell(S, 11, titled('Mine'), seq, {rejectionReason: 'not yours'});
    expect(await outcome).toEqual({ok: false, why: 'rejected', text: 'not yours'});
    expect(state(S).title).toBe('First');
  });

  test('is uncertain when the host is there and says nothing of it', async () => {
    await opened();
    const {outcome} = core.dispatch(S, titled('Mine'));
    timer.pass(ACTION_PATIENCE);
    answer('ping', null);
    expect(await outcome).toMatchObject({ok: false, why: 'uncertain'});
    expect(state(S).title).toBe('First');
  });

  test('on a chat that nobody follows asks for its newest turn, and lets go of it', async () => {
    await opened();
    const {seq, outcome} = core.dispatch(C, {type: 'chat/isReadChanged', isRead: true} as Json);
    expect(wire.last('subscribe').params).toEqual({channel: C, view: {turns: 1}});
    expect(wire.count('dispatchAction')).toBe(0);
    answer('subscribe', {snapshot: snapshot(C, chat('t'), 12)});
    tell(C, 13, {type: 'chat/isReadChanged', isRead: true}, seq);
    expect(await outcome).toEqual({ok: true});
    await Promise.resolve();
    expect(wire.last('unsubscribe').params).toEqual({channel: C});
  });

  test('that only hosts may say is refused here', async () => {
    await opened();
    expect(() => core.dispatch(S, {type: 'session/ready'} as Json)).toThrow(TypeError);
  });
});

describe('after a drop', () => {
  beforeEach(opened);

  test('a replay confirms what arrived, sends what was not sent, and never sends anything twice', async () => {
    const arrived = core.dispatch(S, titled('Arrived'));
    const lost = core.dispatch(S, titled('Lost'));
    core.detach('gone');
    const late = core.dispatch(S, titled('Late'));
    expect(state(S).title).toBe('Late');
    const attached = attach();
    expect(wire.last('reconnect').params).toMatchObject({clientId: 'me', lastSeenServerSeq: 10, subscriptions: [S]});
    answer('reconnect', {type: 'replay', actions: [envelope(S, 11, titled('Arrived'), arrived.seq)], missing: []});
    expect(await attached).toBe('replay');
    expect(await arrived.outcome).toEqual({ok: true});
    expect(await lost.outcome).toMatchObject({ok: false, why: 'uncertain'});
    expect(wire.sent.filter(frame => frame.method === 'dispatchAction').map(frame => frame.params.clientSeq)).toEqual([late.seq]);
    expect(state(S).title).toBe('Late');
  });

  test('a snapshot with lower numbers is believed', async () => {
    core.detach('gone');
    const attached = attach();
    answer('reconnect', {type: 'snapshot', snapshots: [snapshot(S, session('Anew'), 2)]});
    expect(await attached).toBe('snapshot');
    expect([state(S).title, core.highWater]).toEqual(['Anew', 2]);
    tell(S, 3, titled('On'));
    expect(state(S).title).toBe('On');
  });

  test('a host that has forgotten us is met anew', async () => {
    core.detach('gone');
    const attached = attach();
    refuse('reconnect', -32602);
    answer('initialize', {protocolVersion: '1.0.0', serverSeq: 3, snapshots: [snapshot(S, session('Fresh'), 3)]});
    expect(await attached).toBe('fresh');
    expect(state(S).title).toBe('Fresh');
  });

  test('what is missing is gone', async () => {
    const channel = core.channels.get(S);
    core.detach('gone');
    const attached = attach();
    answer('reconnect', {type: 'replay', actions: [], missing: [S]});
    await attached;
    expect(channel?.gone).toContain('gone');
    expect(core.channels.has(S)).toBe(false);
  });

  test('a chat is asked for with as many turns as were loaded', async () => {
    core.follow(C, {turns: 1});
    answer('subscribe', {snapshot: snapshot(C, {...chat('c'), turnsNextCursor: 'x'}, 10)});
    const loaded = core.loadEarlier(C);
    tell(C, 11, {type: 'chat/turnsLoaded', turns: chat('a', 'b').turns});
    answer('fetchTurns', {});
    expect(await loaded).toBe(false);
    core.detach('gone');
    const attached = attach();
    answer('reconnect', {type: 'replay', actions: [], missing: []});
    await attached;
    expect(wire.last('subscribe').params).toEqual({channel: C, view: {turns: 3}});
  });

  test('a number from the past reads the channel anew, once', async () => {
    core.detach('gone');
    const attached = attach();
    answer('reconnect', {type: 'replay', actions: [], missing: []});
    await attached;
    tell(S, 1, titled('Counting anew'));
    expect(wire.count('subscribe')).toBe(1);
    answer('subscribe', {snapshot: snapshot(S, session('Counting anew'), 1)});
    expect([state(S).title, core.highWater]).toEqual(['Counting anew', 1]);
  });

  test('requests that change nothing are repeated, others are lost', async () => {
    const listed = core.request('listSessions', {});
    const created = core.request('createSession', {channel: 'ahp-session:/3'} as Json);
    core.detach('gone');
    await expect(created).rejects.toThrow(LinkLost);
    const attached = attach();
    answer('reconnect', {type: 'replay', actions: [], missing: []});
    await attached;
    answer('listSessions', {items: []});
    expect(await listed).toEqual({items: []});
  });
});

test('a refused request says so, and one that is not answered ends', async () => {
  await opened();
  const refused = core.request('disposeSession', {channel: S});
  refuse('disposeSession', -32009);
  await expect(refused).rejects.toThrow(WireError);
  const unanswered = core.request('createChat', {channel: S} as Json, {timeoutMs: 5});
  timer.pass(5);
  await expect(unanswered).rejects.toThrow(LinkLost);
});

test('a session that is removed takes its channels with it', async () => {
  await opened();
  const notes = core.follow(`${S}/annotations`);
  const terminal = core.follow('ahp-terminal:/1', {owner: S});
  core.receive({jsonrpc: '2.0', method: 'root/sessionRemoved', params: {session: S}});
  expect([notes.gone, terminal.gone, core.channels.size]).toEqual(['the session was removed', 'the session was removed', 0]);
});

test('an action that does not fit reads the channel anew', async () => {
  await opened();
  tell(S, 11, {type: 'session/chatsReordered'});
  expect(wire.last('subscribe').params).toEqual({channel: S});
});

test('the page is told which channels changed, once a frame', async () => {
  await opened();
  const told: string[][] = [];
  core.onChange = uris => told.push([...uris]);
  tell(S, 11, titled('One'));
  tell('ahp-session:/9', 12, titled('Not followed'));
  expect(told).toEqual([[S]]);
});
