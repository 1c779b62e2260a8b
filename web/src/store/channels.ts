/**
 * The channels that components follow: signals per channel, set once per frame.
 *
 * A channel that nobody follows any more is kept for a while, so that going back and forth between
 * two places does not subscribe anew each time.
 */
import {type ReadonlySignal, computed, signal} from '@preact/signals';
import {type Core, type FollowOptions, type FollowedChannel, type Kind, type States, type Timer, kindOfState} from '../ahp/index.ts';
import type {Followed, FollowedChat} from './index.ts';

/** Milliseconds for which a channel is kept after its last follower left. */
export const GRACE = 5_000;

/** Milliseconds in which the host may gather the text of a chat into fewer, longer messages: two frames. An agent that writes as fast as it can would otherwise leave no time for anything else. */
export const GATHERING = 30;

type Phase = 'opening' | 'live' | 'stale' | 'gone';

class Entry {
  readonly uri: string;
  readonly kind: Kind;
  readonly state = signal<unknown>(undefined);
  readonly phase = signal<Phase>('opening');
  readonly gone = signal<string | undefined>(undefined);
  readonly mayLoad: ReadonlySignal<boolean>;
  channel: FollowedChannel;
  options: FollowOptions;
  users = 0;
  stopGrace: (() => void) | undefined;

  constructor(uri: string, kind: Kind, options: FollowOptions, channel: FollowedChannel) {
    this.uri = uri;
    this.kind = kind;
    this.options = options;
    this.channel = channel;
    this.mayLoad = computed(() => this.phase.value === 'live' && (this.state.value as States['chat'] | undefined)?.turnsNextCursor != null);
  }

  /** Show what the channel is now. What was there stays when the channel is gone. */
  refresh(): void {
    const {mirror, live, gone} = this.channel;
    if (mirror?.kind === this.kind) this.state.value = mirror.state;
    const wrong = mirror && mirror.kind !== this.kind ? `it is no ${this.kind}` : undefined;
    this.gone.value = gone ?? wrong;
    if (this.gone.value !== undefined) this.phase.value = 'gone';
    else if (live) this.phase.value = 'live';
    else this.phase.value = this.state.value === undefined ? 'opening' : 'stale';
  }
}

export class Channels {
  /** Called when a channel's state was shown. */
  onShown: (uri: string, kind: Kind, state: unknown) => void = () => {};
  private readonly core: Core;
  private readonly timer: Timer;
  private readonly schedule: (job: () => void) => void;
  private readonly entries = new Map<string, Entry>();
  private changed = new Set<string>();

  constructor(core: Core, timer: Timer, schedule: (job: () => void) => void) {
    this.core = core;
    this.timer = timer;
    this.schedule = schedule;
  }

  /** Follow a channel; every follow needs its release. */
  open<K extends Kind>(kind: K, uri: string, options: FollowOptions = {}): Followed<States[K]> {
    return this.handle<K>(this.use(kind, uri, options));
  }

  /** Follow a chat, at first its newest turns. */
  openChat(uri: string, turns: number): FollowedChat {
    const entry = this.use('chat', uri, {turns, maxLatencyMs: GATHERING});
    let loading: Promise<boolean> | undefined;
    // One page at a time: a second question would ask for the same turns.
    const loadEarlier = (): Promise<boolean> => (loading ??= this.core.loadEarlier(uri).finally(() => (loading = undefined)));
    return {...this.handle<'chat'>(entry), mayLoad: entry.mayLoad, loadEarlier};
  }

  /** The state of a channel that is followed already. */
  peek(uri: string): unknown {
    return this.entries.get(uri)?.state.peek();
  }

  /** Show a state of old until the host tells. */
  prime(uri: string, state: unknown): void {
    const entry = this.entries.get(uri);
    if (!entry || state === undefined || entry.state.value !== undefined || entry.channel.mirror || kindOfState(state) !== entry.kind) return;
    entry.state.value = state;
    entry.refresh();
  }

  /** Take note of what the core has changed. */
  readonly mark = (uris: ReadonlySet<string>): void => {
    for (const uri of uris) if (this.entries.has(uri)) this.changed.add(uri);
    if (this.changed.size) this.schedule(this.publish);
  };

  /** Ask again for what was gone and is still wanted: it may have come back. */
  revive(): void {
    for (const entry of this.entries.values()) if (entry.channel.gone !== undefined && entry.users > 0) this.follow(entry);
  }

  private readonly publish = (): void => {
    const changed = this.changed;
    this.changed = new Set();
    for (const uri of changed) {
      const entry = this.entries.get(uri);
      if (!entry) continue;
      entry.refresh();
      if (entry.phase.value === 'live') this.onShown(uri, entry.kind, entry.state.value);
    }
  };

  private use(kind: Kind, uri: string, options: FollowOptions): Entry {
    let entry = this.entries.get(uri);
    if (!entry) {
      entry = new Entry(uri, kind, options, this.core.follow(uri, options));
      this.entries.set(uri, entry);
      entry.refresh();
    } else if (entry.channel.gone !== undefined) {
      this.follow(entry);
    }
    entry.stopGrace?.();
    entry.stopGrace = undefined;
    entry.users += 1;
    return entry;
  }

  // The core forgets a channel that is gone, so there is nothing to unfollow.
  private follow(entry: Entry): void {
    entry.channel = this.core.follow(entry.uri, entry.options);
    this.mark(new Set([entry.uri]));
  }

  private handle<K extends Kind>(entry: Entry): Followed<States[K]> {
    let isHeld = true;
    return {
      state: entry.state as ReadonlySignal<States[K] | undefined>,
      phase: entry.phase,
      gone: entry.gone,
      release: () => {
        if (!isHeld) return;
        isHeld = false;
        entry.users -= 1;
        if (entry.users === 0) entry.stopGrace = this.timer.after(GRACE, () => this.drop(entry));
      },
    };
  }

  private drop(entry: Entry): void {
    if (entry.users > 0) return;
    this.entries.delete(entry.uri);
    if (entry.channel.gone === undefined) this.core.unfollow(entry.uri);
  }
}
