/** A store whose host is the test: it sees what is sent and says what comes back. */
import type {StateAction} from '../../src/ahp/index.ts';
import type {SocketEvents} from '../../src/link/socket.ts';
import {Tap} from '../../src/link/tap.ts';
import {HostStore, type StoreOptions} from '../../src/store/host_store.ts';
import {FakeTimer, settled} from './fake_time.ts';

export type Json = any; // oxlint-disable-line typescript/no-explicit-any -- what a test says as a host is no typed thing

export class FakeHost {
  readonly timer = new FakeTimer();
  readonly sent: Json[] = [];
  readonly store: HostStore;
  events: SocketEvents | undefined;
  private jobs = new Set<() => void>();
  private seq = 10;

  constructor(more: Partial<StoreOptions> = {}) {
    this.store = new HostStore({
      clientId: 'me',
      timer: this.timer,
      schedule: job => void this.jobs.add(job),
      introduce: () => ({protocolVersions: ['1.0.0']}) as never,
      world: {
        timer: this.timer,
        tap: new Tap(this.timer.now),
        roll: () => 0,
        admission: () => Promise.resolve('unreachable'),
        isOnline: () => true,
        isVisible: () => true,
        open: events => {
          this.events = events;
          return {send: text => void this.sent.push(JSON.parse(text)), close: () => {}};
        },
      },
      ...more,
    });
  }

  /** Draw a frame. */
  frame(): void {
    const jobs = this.jobs;
    this.jobs = new Set();
    for (const job of jobs) job();
  }

  get isDrawn(): boolean {
    return this.jobs.size === 0;
  }

  last = (method: string): Json => this.sent.findLast(frame => frame.method === method);
  count = (method: string): number => this.sent.filter(frame => frame.method === method).length;
  tell = (frame: Json): void => this.events?.message(JSON.stringify({jsonrpc: '2.0', ...frame}));

  async answer(method: string, result: Json): Promise<void> {
    this.tell({id: this.last(method).id, result});
    await settled();
  }

  async refuse(method: string, message: string): Promise<void> {
    this.tell({id: this.last(method).id, error: {code: -32008, message}});
    await settled();
  }

  /** Answer a subscription to a channel with a state. */
  async snapshot(channel: string, state: Json): Promise<void> {
    const asked = this.sent.findLast(frame => frame.method === 'subscribe' && frame.params.channel === channel);
    this.seq += 1;
    this.tell({id: asked.id, result: {snapshot: {resource: channel, state, fromSeq: this.seq}}});
    await settled();
  }

  async action(channel: string, action: Json, clientSeq?: number, more: Json = {}): Promise<void> {
    this.seq += 1;
    const origin = clientSeq === undefined ? {} : {origin: {clientId: 'me', clientSeq}};
    this.tell({method: 'action', params: {channel, serverSeq: this.seq, action: action as StateAction, ...origin, ...more}});
    await settled();
  }

  notice(method: string, params: Json): void {
    this.tell({method, params});
  }

  /** Come up, with these sessions. */
  async up(sessions: Json[] = [], meta: Json = {}): Promise<void> {
    if (!this.events) this.store.start();
    this.events?.opened();
    await this.answer('initialize', {protocolVersion: '1.0.0', serverSeq: this.seq, _meta: meta, snapshots: [{resource: 'ahp-root://', state: {agents: []}, fromSeq: this.seq}]});
    await this.answer('listSessions', {items: sessions});
    this.frame();
    await settled();
  }

  lose(): void {
    this.events?.closed(1006, '');
  }
}

export const NOW = '2026-01-01T00:00:00.000Z';
export const summary = (resource: string, more: Json = {}): Json => ({resource, provider: 'demo', title: resource, status: 1, createdAt: NOW, modifiedAt: NOW, ...more});
export const sessionState = (title: string, more: Json = {}): Json => ({provider: 'demo', title, status: 1, lifecycle: 'ready', activeClients: [], chats: [], ...more});
export const chatState = (resource: string, more: Json = {}): Json => ({resource, title: '', status: 1, modifiedAt: NOW, turns: [], ...more});
