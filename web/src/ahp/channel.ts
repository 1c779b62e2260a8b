/**
 * A channel that is followed: its mirror, and how far its subscription is.
 *
 * When it is subscribed, resumed or given up is for the core to decide.
 */
import {type J, same} from './edits.ts';
import {Mirror, type Received} from './mirror.ts';
import {kindOfState} from './state_marks.ts';
import {type TurnWindow, widened, windowParams} from './turn_window.ts';
import type {ActionEnvelope, SubscribeParams} from './types.ts';

/** Envelopes kept while a snapshot is on its way; a host that sends more before it answers does not keep the order that the protocol promises. */
const MOST_EARLY = 4096;

/** A host that does not do what the protocol says. */
export class BadHost extends Error {
  override readonly name = 'BadHost';
}

export interface FollowOptions {
  readonly turns?: number;
  readonly maxLatencyMs?: number;
  /** The session that the channel belongs to, where that is known. */
  readonly owner?: string;
}

/** Whether a host's message has what an envelope must have. */
export function isEnvelope(value: J): value is ActionEnvelope {
  return typeof value?.channel === 'string' && Number.isInteger(value.serverSeq) && typeof value.action?.type === 'string';
}

export class FollowedChannel {
  readonly uri: string;
  mirror: Mirror | undefined;
  /** Whether the host sends its actions on the wire that is up now. */
  live = false;
  /** Why it exists no more, or is not for us. */
  gone: string | undefined;
  /** How many follow it. */
  users = 0;
  /** How much of a chat is wanted. */
  window: TurnWindow;
  /** How long the host may hold actions back; undefined is its default. */
  maxLatencyMs: number | undefined;
  /** The session that it belongs to and goes with, where that is known. */
  owner: string | undefined;
  /** The subscription that is in force, as it was asked for. */
  asked: SubscribeParams | undefined;
  /** Whether a subscription is under way. */
  opening = false;
  /** Whether its state belongs to the numbering in which the client resumes. */
  current = false;
  /** Why it may be gone, until the host has been asked. */
  removed: string | undefined;
  /** Whether nothing has shown yet that a host which resumed us still counts as it did: then a number from the past may be the first of a new count. */
  unproven = false;
  private readonly clientId: string;
  private early: ActionEnvelope[] = [];

  constructor(uri: string, clientId: string, o: FollowOptions) {
    this.uri = uri;
    this.clientId = clientId;
    this.window = o.turns;
    this.maxLatencyMs = o.maxLatencyMs;
    this.owner = o.owner;
  }

  /** The params of the subscription that is wanted. */
  get wanted(): SubscribeParams {
    const delivery = this.maxLatencyMs === undefined ? {} : {delivery: {maxLatencyMs: this.maxLatencyMs}};
    return {channel: this.uri, ...windowParams(this.window), ...delivery} as SubscribeParams;
  }

  get isAsked(): boolean {
    return same(this.asked, this.wanted);
  }

  /** Whether what is sent now will be answered: not while it is being subscribed to anew. */
  get takesActions(): boolean {
    return this.live && this.mirror !== undefined && this.isAsked;
  }

  /** Whether the subscription is its URI alone, without view or delivery options. */
  get isPlain(): boolean {
    return this.window === undefined && this.maxLatencyMs === undefined;
  }

  /** Widen the subscription to what a further follower wants of it, and how soon. */
  widen(turns: TurnWindow, maxLatencyMs: number | undefined): void {
    this.window = widened(this.window, turns);
    if (this.maxLatencyMs === undefined) return;
    if (maxLatencyMs === undefined || maxLatencyMs < this.maxLatencyMs) this.maxLatencyMs = maxLatencyMs;
  }

  /** Start over from a snapshot, then apply newer envelopes that came before it. */
  resetTo(snapshot: J): void {
    const kind = kindOfState(snapshot?.state);
    if (kind === undefined || !Number.isInteger(snapshot.fromSeq)) throw new BadHost(`the snapshot of ${this.uri} is of no known kind`);
    if (this.mirror?.kind === kind) this.mirror.reset(snapshot.state, snapshot.fromSeq);
    else this.mirror = new Mirror(kind, snapshot.state, snapshot.fromSeq, {clientId: this.clientId});
    this.followed();
    this.applyEarly();
  }

  /** Take note that it is subscribed. */
  followed(): void {
    this.current = true;
    this.live = true;
    this.unproven = false;
  }

  /** Apply an envelope; undefined while there is no state to apply it to. */
  apply(envelope: ActionEnvelope): Received | undefined {
    if (!this.mirror || !this.live) {
      if (this.early.length < MOST_EARLY) this.early.push(envelope);
      return undefined;
    }
    const received = this.mirror.receive(envelope);
    if (received.verdict !== 'stale') this.unproven = false;
    return received;
  }

  applyEarly(): void {
    const early = this.early;
    this.early = [];
    for (const envelope of early) this.apply(envelope);
  }

  /** Take note that the wire is down. */
  suspend(): void {
    this.live = false;
    this.unproven = false;
    this.opening = false;
    this.early = [];
  }
}
