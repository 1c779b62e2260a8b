/** What is kept for when the host cannot be reached. */
import {beforeEach, describe, expect, test} from 'vitest';
import {Archive, MOST_CHATS, MOST_SIZE, MOST_TURNS, WRITE_AFTER, cut} from '../../src/store/archive.ts';
import {FakeHost, type Json, chatState, sessionState, summary} from './fake_host.ts';
import {FakeTimer, settled} from './fake_time.ts';

class FakeKept {
  readonly all = new Map<string, Json>();
  writes = 0;
  get = (name: string): Promise<unknown> => Promise.resolve(this.all.get(name));
  del = (name: string): Promise<void> => Promise.resolve(void this.all.delete(name));
  set = (name: string, value: unknown): Promise<void> => {
    this.writes += 1;
    return Promise.resolve(void this.all.set(name, value));
  };
}

const C = 'ahp-chat:/1';
const S = 'ahp-session:/1';
const turns = (count: number, size = 10): Json[] => Array.from({length: count}, (_, at) => ({id: `t${at}`, state: 'complete', responseParts: [{content: 'x'.repeat(size)}]}));

let kept: FakeKept;
let timer: FakeTimer;
let archive: Archive;

beforeEach(() => {
  kept = new FakeKept();
  timer = new FakeTimer();
  archive = new Archive(kept, timer);
});

test('a stream is written once in a while, and as it was last shown', async () => {
  for (let delta = 0; delta < 50; delta += 1) archive.shown(C, 'chat', chatState(C, {activity: String(delta)}));
  expect(kept.writes).toBe(0);
  timer.pass(WRITE_AFTER);
  await settled();
  expect(await archive.recall(C)).toMatchObject({activity: '49'});
  expect(kept.writes).toBe(2);
});

test('a turn that still runs is written when it ends, or when the page is left', async () => {
  const running = chatState(C, {activeTurn: {id: 't', responseParts: []}});
  archive.shown(C, 'chat', running);
  timer.pass(10 * WRITE_AFTER);
  await settled();
  expect(kept.writes).toBe(0);
  await archive.flush();
  expect(await archive.recall(C)).toBeDefined();
  archive.shown(C, 'chat', running);
  archive.shown(C, 'chat', chatState(C, {activity: 'ended'}));
  timer.pass(WRITE_AFTER);
  await settled();
  expect(await archive.recall(C)).toMatchObject({activity: 'ended'});
});

test('the oldest are let go of', async () => {
  for (let chat = 0; chat <= 2 * MOST_CHATS; chat += 1) {
    archive.shown(`ahp-chat:/${chat}`, 'chat', chatState(`ahp-chat:/${chat}`));
    await archive.flush(); // oxlint-disable-line no-await-in-loop
  }
  expect(await archive.recall('ahp-chat:/0')).toBeUndefined();
  expect(await archive.recall('ahp-chat:/1')).toBeDefined();
});

test('other channels are not kept', async () => {
  archive.shown('ahp-terminal:/1', 'terminal', {content: []});
  await archive.flush();
  expect(kept.writes).toBe(0);
});

test('nothing is kept after signing out', async () => {
  archive.shown(C, 'chat', chatState(C));
  archive.close();
  archive.shown(S, 'session', sessionState('x'));
  archive.listed([summary(S)]);
  await archive.flush();
  timer.pass(WRITE_AFTER);
  await settled();
  expect(kept.writes).toBe(0);
});

describe('a chat is cut', () => {
  test('to its newest turns', () => {
    const state = cut('chat', chatState(C, {turns: turns(100)})) as Json;
    expect([state.turns.length, state.turns.at(-1).id]).toEqual([MOST_TURNS, 't99']);
  });

  test('to what fits', () => {
    const state = cut('chat', chatState(C, {turns: turns(30, MOST_SIZE / 8)})) as Json;
    expect(state.turns.length).toBe(7);
  });

  test('to nothing when not even its last turn fits', () => {
    expect(cut('chat', chatState(C, {turns: turns(1, MOST_SIZE)}))).toBeUndefined();
  });
});

test('without a host, what is kept is shown, and the host then replaces it', async () => {
  archive.shown(C, 'chat', chatState(C, {title: 'of old'}));
  archive.listed([summary(S)]);
  await archive.flush();
  const host = new FakeHost({archive});
  host.store.start();
  const chat = host.store.chat(C);
  await settled();
  expect([chat.state.value?.title, chat.phase.value]).toEqual(['of old', 'stale']);
  expect(host.store.sessions.value.length).toBe(1);
  host.lose();
  host.frame();
  await settled();
  expect(host.store.live.value).toBe('reconnecting');
  host.timer.pass(1);
  await host.up([]);
  await host.snapshot(C, chatState(C, {title: 'new'}));
  host.frame();
  expect([chat.state.value?.title, chat.phase.value, host.store.sessions.value.length]).toEqual(['new', 'live', 0]);
});
