/** The link's states, with sockets, time and chance of our own. */
import {beforeEach, describe, expect, test} from 'vitest';
import {Core} from '../../src/ahp/index.ts';
import type {Admission} from '../../src/link/admission.ts';
import {HANDSHAKE_PATIENCE, Link, PING_EVERY, PING_PATIENCE, QUIET_LOSS, WATCHED} from '../../src/link/link.ts';
import type {SocketEvents} from '../../src/link/socket.ts';
import {Tap} from '../../src/link/tap.ts';
import {FakeTimer, settled} from '../store/fake_time.ts';

class FakeSocket {
  readonly sent: {id?: number; method?: string}[] = [];
  readonly events: SocketEvents;
  isClosed = false;

  constructor(events: SocketEvents) {
    this.events = events;
  }

  send = (text: string): void => void this.sent.push(JSON.parse(text));

  close = (code = 1000, reason = ''): void => {
    if (this.isClosed) return;
    this.isClosed = true;
    this.events.closed(code, reason);
  };

  tell = (frame: object): void => this.events.message(JSON.stringify({jsonrpc: '2.0', ...frame}));
  count = (method: string): number => this.sent.filter(frame => frame.method === method).length;

  async answer(method: string, body: object): Promise<void> {
    const asked = this.sent.findLast(frame => frame.method === method);
    this.tell({id: asked?.id, ...body});
    await settled();
  }
}

let timer: FakeTimer;
let core: Core;
let link: Link;
let sockets: FakeSocket[];
let admission: Admission;
let isOnline: boolean;
let isVisible: boolean;

const last = (): FakeSocket => sockets.at(-1)!;

async function up(): Promise<void> {
  last().events.opened();
  await last().answer('initialize', {result: {protocolVersion: '1.0.0', serverSeq: 1, snapshots: []}});
}

beforeEach(() => {
  timer = new FakeTimer();
  sockets = [];
  admission = 'unreachable';
  isOnline = true;
  isVisible = true;
  core = new Core({clientId: 'me', firstSeq: 1, timer, introduce: () => ({protocolVersions: ['1.0.0']}) as never});
  link = new Link(core, {
    timer,
    tap: new Tap(timer.now),
    open: events => {
      const socket = new FakeSocket(events);
      sockets.push(socket);
      return socket;
    },
    roll: () => 0.5,
    admission: () => Promise.resolve(admission),
    isOnline: () => isOnline,
    isVisible: () => isVisible,
  });
  link.start();
});

test('it is live once the handshake is done', async () => {
  expect(link.live).toBe('connecting');
  await up();
  expect(link.live).toBe('live');
});

test('a short loss is not shown, a longer one is, and the next socket makes it live again', async () => {
  await up();
  last().events.closed(1006, '');
  expect(link.live).toBe('live');
  timer.pass(QUIET_LOSS - 1);
  expect(link.live).toBe('live');
  timer.pass(1);
  expect(link.live).toBe('reconnecting');
  expect(sockets.length).toBe(2);
  await up();
  expect(link.live).toBe('live');
});

test('attempts wait longer and longer, and a lasting connection starts them anew', async () => {
  const waits: number[] = [];
  for (let attempt = 0; attempt < 4; attempt += 1) {
    const opened = sockets.length;
    last().events.closed(1006, '');
    // oxlint-disable-next-line no-await-in-loop
    await settled();
    let waited = 0;
    while (sockets.length === opened) {
      timer.pass(25);
      waited += 25;
    }
    waits.push(waited);
  }
  expect(waits).toEqual([125, 250, 500, 1000]);
  await up();
  timer.pass(60_000 - PING_EVERY * 2);
  const opened = sockets.length;
  last().events.closed(1006, '');
  timer.pass(125);
  expect(sockets.length).toBe(opened + 1);
});

describe('ends', () => {
  test('when another tab takes its place; "Use here" takes it back', async () => {
    await up();
    last().events.closed(1008, 'superseded by a newer connection of this client');
    expect(link.live).toBe('superseded');
    timer.pass(600_000);
    expect(sockets.length).toBe(1);
    link.retry();
    expect(sockets.length).toBe(2);
    await up();
    expect(link.live).toBe('live');
  });

  test('when the token has ended', async () => {
    await up();
    last().events.closed(1008, 'the token was revoked or has expired');
    expect(link.live).toBe('signedOut');
    timer.pass(600_000);
    expect(sockets.length).toBe(1);
  });

  test('when the host does not know the token', async () => {
    admission = 'signedOut';
    last().events.closed(1006, '');
    await settled();
    expect(link.live).toBe('signedOut');
  });

  test('when the host refuses the page, and says why', async () => {
    admission = {refused: 'pages from elsewhere may not connect'};
    last().events.closed(1006, '');
    await settled();
    expect([link.live, link.detail]).toEqual(['failed', 'pages from elsewhere may not connect']);
  });

  test('when no version is in common', async () => {
    last().events.opened();
    await last().answer('initialize', {error: {code: -32005, message: 'no version in common'}});
    expect([link.live, link.detail]).toEqual(['failed', 'no version in common']);
  });
});

test('a host that asks for rest gets it', async () => {
  admission = {waitMs: 30_000};
  last().events.closed(1006, '');
  await settled();
  timer.pass(29_999);
  expect(sockets.length).toBe(1);
  timer.pass(1);
  expect(sockets.length).toBe(2);
});

test('a page that never was connected goes on connecting, unless it shows something of old', async () => {
  last().events.closed(1006, '');
  expect(link.live).toBe('connecting');
  await settled();
  timer.pass(1_000);
  link.hasShown = true;
  last().events.closed(1006, '');
  expect(link.live).toBe('reconnecting');
});

describe('silence', () => {
  test('is asked about, and an answer keeps the connection', async () => {
    await up();
    timer.pass(PING_EVERY);
    expect(last().count('ping')).toBe(1);
    await last().answer('ping', {result: null});
    timer.pass(PING_PATIENCE);
    expect(sockets.length).toBe(1);
  });

  test('of a host that is not there any more ends the connection', async () => {
    await up();
    timer.pass(PING_EVERY + PING_PATIENCE);
    expect(sockets[0]!.isClosed).toBe(true);
    timer.pass(1_000);
    expect([link.live, sockets.length]).toEqual(['reconnecting', 2]);
  });

  test('in the handshake ends the attempt', () => {
    last().events.opened();
    timer.pass(HANDSHAKE_PATIENCE);
    expect(sockets[0]!.isClosed).toBe(true);
    timer.pass(1_000);
    expect(sockets.length).toBe(2);
  });

  test('is not asked about by a hidden page, but at once when it is looked at again', async () => {
    isVisible = false;
    await up();
    timer.pass(10 * PING_EVERY);
    expect(last().count('ping')).toBe(0);
    link.wake();
    expect(last().count('ping')).toBe(1);
  });
});

test.each([[true, WATCHED], [false, 15_000]])('after many attempts a page that is visible (%s) waits %i ms', async (visible, longest) => {
  isVisible = visible;
  for (let attempt = 0; attempt < 12; attempt += 1) {
    last().events.closed(1006, '');
    // oxlint-disable-next-line no-await-in-loop
    await settled();
    timer.pass(30_000);
  }
  const opened = sockets.length;
  last().events.closed(1006, '');
  await settled();
  timer.pass(longest - 1);
  expect(sockets.length).toBe(opened);
  timer.pass(1);
  expect(sockets.length).toBe(opened + 1);
});

test('waking tries at once what would have waited', async () => {
  await up();
  for (let attempt = 0; attempt < 8; attempt += 1) {
    last().events.closed(1006, '');
    // oxlint-disable-next-line no-await-in-loop
    await settled();
    timer.pass(30_000);
  }
  last().events.closed(1006, '');
  await settled();
  const opened = sockets.length;
  link.wake();
  expect(sockets.length).toBe(opened + 1);
});

test('without a network it is offline', async () => {
  await up();
  isOnline = false;
  last().events.closed(1006, '');
  timer.pass(QUIET_LOSS);
  expect(link.live).toBe('offline');
});

test('what an older socket says does not count', async () => {
  await up();
  const old = last();
  old.events.closed(1006, '');
  timer.pass(1_000);
  old.events.message('{"jsonrpc":"2.0","method":"action","params":{"channel":"x","serverSeq":99,"action":{"type":"a/b"}}}');
  old.events.closed(1008, 'superseded');
  expect([core.highWater, link.live]).toEqual([1, 'reconnecting']);
});

test('a host that sends what is no JSON is left', async () => {
  await up();
  last().events.message('{');
  expect(sockets[0]!.isClosed).toBe(true);
});
