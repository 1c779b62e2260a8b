/**
 * The client's state that outlives its wires: channels, pending actions, identity.
 *
 * Owns subscribing, dispatching and taking in what arrives; no DOM, clock or chance of its own. How a
 * new wire picks all this up again is `resume`'s; when there is a wire is the link's.
 */
import {Calls, type JsonRpc, LinkLost, type Timer, type Wire, WireError} from './calls.ts';
import {type FollowOptions, FollowedChannel, isEnvelope} from './channel.ts';
import {type Dispatch, Dispatches, type Outcome, withResolvers} from './dispatches.ts';
import type {J} from './edits.ts';
import {DoesNotFit} from './mirror.ts';
import type {Methods, Notices} from './own.ts';
import {kindOf, mayDispatch} from './registry.ts';
import {Requests} from './requests.ts';
import {type Resumed, initialized, reconnected} from './resume.ts';
import {keeping} from './turn_window.ts';
import type {InitializeParams, InitializeResult, StateAction} from './types.ts';
import {ROOT, annotationsUri} from './uris.ts';

/** Milliseconds after which an action without an answer on a live wire counts as lost: a host says nothing at all about an action on a channel that it does not know. */
export const ACTION_PATIENCE = 30_000;

export class Core {
  readonly channels = new Map<string, FollowedChannel>();
  readonly dispatches: Dispatches;
  /** What the host said of itself when it was last met. */
  host: InitializeResult | undefined;
  /** The highest serverSeq seen; goes down when a host starts to count anew. */
  highWater = 0;
  /** Whether the host has met this client, so that there is something to resume. */
  isKnown = false;
  onChange: (uris: ReadonlySet<string>) => void = () => {};
  onNotice: (method: string, params: J) => void = () => {};
  private readonly clientId: string;
  private readonly timer: Timer;
  private readonly introduce: () => InitializeParams;
  private readonly calls = new Calls();
  // Whether the handshake on the present wire is done.
  private up = false;
  private readonly requests: Requests;
  private changed = new Set<string>();

  constructor(o: {clientId: string; firstSeq: number; timer: Timer; introduce(): InitializeParams}) {
    this.clientId = o.clientId;
    this.timer = o.timer;
    this.introduce = o.introduce;
    this.dispatches = new Dispatches(o.firstSeq);
    this.requests = new Requests(this.calls, o.timer);
  }

  /** Shake hands on a new wire; when it is done, the client is as it was before the last drop. */
  attach(wire: Wire): Promise<Resumed> {
    this.detach('another connection took its place');
    this.calls.use(wire);
    const {promise, resolve, reject} = withResolvers<Resumed>();
    const done = (adopt: (result: J) => Resumed) => (result: J): void => {
      try {
        const resumed = adopt(result);
        this.cameUp();
        resolve(resumed);
      } catch (error) {
        reject(error as Error);
      }
    };
    const start = (): void => {
      // Chats of which only the end is wanted are left out: a view cannot be asked for here.
      const initialSubscriptions = [...this.channels.values()].filter(channel => channel.isPlain).map(channel => channel.uri);
      const params = {...this.introduce(), channel: ROOT, clientId: this.clientId, initialSubscriptions};
      this.calls.call('initialize', params, {done: done(result => initialized(this, result)), failed: reject});
    };
    const held = [...this.channels.values()].filter(channel => channel.current && channel.mirror);
    if (!this.isKnown || !held.length) {
      start();
      return promise;
    }
    const subscriptions = held.map(channel => channel.uri);
    const params = {channel: ROOT, clientId: this.clientId, lastSeenServerSeq: this.highWater, subscriptions};
    // A host that has forgotten us refuses; then everything starts over.
    const failed = (error: Error): void => (error instanceof WireError ? start() : reject(error));
    this.calls.call('reconnect', params, {done: done(result => reconnected(this, held, result)), failed});
    return promise;
  }

  /** Take note that the wire is gone. What is shown stays. */
  detach(why: string): void {
    this.up = false;
    this.requests.wentDown();
    for (const channel of this.channels.values()) {
      channel.suspend();
      this.changed.add(channel.uri);
    }
    this.calls.use(undefined, why);
    this.flush();
  }

  /** Take in a frame of the host's. */
  receive(frame: unknown): void {
    const message = frame as JsonRpc | null;
    if (typeof message !== 'object' || message === null) return;
    if (typeof message.method !== 'string') this.calls.answered(message);
    else if (message.id !== undefined) this.calls.refuse(message.id);
    else if (message.method === 'action') this.onAction(message.params);
    else this.notice(message.method, message.params);
    this.flush();
  }

  private cameUp(): void {
    this.up = true;
    this.sendUnsent();
    for (const channel of this.channels.values()) this.ensureOpen(channel);
    this.requests.cameUp();
  }

  /** Tell what has changed. */
  flush(): void {
    if (!this.changed.size) return;
    const uris = this.changed;
    this.changed = new Set();
    this.onChange(uris);
  }

  // Requests.

  /** Send a request. One that changes nothing is repeated when its answer is lost. Rejects with WireError or LinkLost. */
  request<M extends keyof Methods>(method: M, params: Methods[M]['params'], o: {timeoutMs?: number; repeat?: boolean} = {}): Promise<Methods[M]['result']> {
    return this.requests.request(method, params, o);
  }

  /** Tell the host something that it does not answer; whether it could be sent. What is told so is forgotten with its wire. */
  tell<N extends keyof Notices>(notice: N, params: Notices[N]): boolean {
    return this.up && this.calls.notify(notice, {channel: ROOT, ...params});
  }

  /** Load the next older turns of a chat into its state; whether there are more. */
  async loadEarlier(uri: string): Promise<boolean> {
    const cursor = this.chat(uri)?.turnsNextCursor;
    if (cursor == null) return false;
    // The turns come as an action before the answer does.
    await this.request('fetchTurns', {channel: uri, cursor} as J);
    const channel = this.channels.get(uri);
    const chat = this.chat(uri);
    if (channel && channel.window !== undefined && chat && channel.isAsked) {
      // After a reconnect as much is to be there as before it.
      channel.window = keeping(channel.window, chat.turns.length);
      channel.asked = channel.wanted;
    }
    return chat?.turnsNextCursor != null;
  }

  private chat(uri: string): J {
    return this.channels.get(uri)?.mirror?.state;
  }

  // Channels.

  /** Start following a channel; it is subscribed to as soon as possible. Every follow needs its unfollow. */
  follow(uri: string, o: FollowOptions = {}): FollowedChannel {
    let channel = this.channels.get(uri);
    if (channel) {
      channel.widen(o.turns, o.maxLatencyMs);
      channel.owner = o.owner ?? channel.owner;
    } else {
      channel = new FollowedChannel(uri, this.clientId, o);
      this.channels.set(uri, channel);
    }
    channel.users += 1;
    this.ensureOpen(channel);
    return channel;
  }

  /** Stop following a channel; the last follower unsubscribes. */
  unfollow(uri: string): void {
    const channel = this.channels.get(uri);
    if (!channel) return;
    const last = this.dispatches.on(uri).at(-1);
    if (channel.users === 1 && last) {
      // Nobody would hear what becomes of these, so the channel is followed till then.
      void last.outcome.then(() => this.unfollow(uri));
      return;
    }
    channel.users -= 1;
    if (channel.users > 0) return;
    this.forgetChannel(channel, 'it is not followed any more');
    if (this.up) this.calls.notify('unsubscribe', {channel: uri});
  }

  /** Subscribe to a channel if its subscription is not the wanted one, or `again`. */
  private ensureOpen(channel: FollowedChannel, again = false): void {
    if (again) channel.asked = undefined;
    if (!this.up || channel.opening || channel.isAsked || this.channels.get(channel.uri) !== channel) return;
    // A snapshot may hold the effect of an action, and then its echo never comes: `ended` asks again.
    if (this.dispatches.on(channel.uri).some(dispatch => dispatch.sent)) return;
    const wanted = channel.wanted;
    channel.opening = true;
    this.calls.call('subscribe', wanted, {
      done: result => {
        channel.opening = false;
        // Let go of in the meantime; the host was told so right behind the question.
        if (this.channels.get(channel.uri) !== channel) return;
        try {
          this.subscribed(channel, result);
        } catch (error) {
          this.channelGone(channel, (error as Error).message);
          return;
        }
        channel.asked = wanted;
        channel.removed = undefined;
        this.sendUnsent();
        this.ensureOpen(channel);
      },
      failed: error => {
        channel.opening = false;
        if (!(error instanceof LinkLost)) this.channelGone(channel, channel.removed ?? error.message);
      },
    });
  }

  private subscribed(channel: FollowedChannel, result: J): void {
    this.changed.add(channel.uri);
    if (result?.snapshot == null) {
      channel.followed();
      return;
    }
    const last = channel.mirror?.seq ?? 0;
    this.adopt(channel, result.snapshot);
    // The host counts anew, so the next reconnect must not name the old number.
    if (channel.mirror && channel.mirror.seq < last) this.highWater = channel.mirror.seq;
  }

  /** Reset a channel to a snapshot, with its unanswered actions on top. */
  adopt(channel: FollowedChannel, snapshot: J): void {
    channel.resetTo(snapshot);
    this.changed.add(channel.uri);
    this.highWater = Math.max(this.highWater, channel.mirror?.seq ?? 0);
    for (const dispatch of this.dispatches.on(channel.uri)) this.show(channel, dispatch);
  }

  /** End a channel that no longer exists, and the actions that wait on it. */
  channelGone(channel: FollowedChannel, why: string): void {
    this.forgetChannel(channel, why);
    for (const dispatch of this.dispatches.on(channel.uri)) this.fail(dispatch, `the channel is gone: ${why}`);
  }

  private forgetChannel(channel: FollowedChannel, why: string): void {
    if (this.channels.get(channel.uri) === channel) this.channels.delete(channel.uri);
    channel.gone = why;
    channel.live = false;
    this.changed.add(channel.uri);
  }

  // Actions.

  /** Dispatch an action: it shows at once, and is sent as soon as the channel is followed. */
  dispatch(uri: string, action: StateAction): {seq: number; outcome: Promise<Outcome>} {
    if (!mayDispatch(action.type)) throw new TypeError(`clients may not dispatch ${action.type}`);
    const dispatch = this.dispatches.add(uri, action);
    const {seq, outcome} = dispatch;
    if (!this.dispatches.has(dispatch)) return {seq, outcome};
    const channel = this.channels.get(uri);
    if (!channel) {
      // Nobody follows it, so no more of a chat is needed than its newest turn.
      this.follow(uri, kindOf(action.type) === 'chat' ? {turns: 1} : {});
      void outcome.then(() => this.unfollow(uri));
    } else if (channel.mirror) {
      this.show(channel, dispatch);
      if (channel.takesActions && this.up) this.send(dispatch);
    }
    this.flush();
    return {seq, outcome};
  }

  /** End an action that will not be answered any more. */
  fail(dispatch: Dispatch, why: string): void {
    this.dispatches.take(dispatch.seq);
    dispatch.fail(why);
    this.ended(dispatch);
  }

  private ended(dispatch: Dispatch): void {
    const channel = this.channels.get(dispatch.channel);
    if (!channel) return;
    if (channel.mirror?.forget(dispatch.seq)) this.changed.add(channel.uri);
    this.ensureOpen(channel);
  }

  private show(channel: FollowedChannel, dispatch: Dispatch): void {
    channel.mirror?.forget(dispatch.seq);
    channel.mirror?.dispatch(dispatch.seq, dispatch.action);
    this.changed.add(channel.uri);
  }

  private sendUnsent(): void {
    for (const dispatch of this.dispatches.all()) {
      const channel = this.channels.get(dispatch.channel);
      if (dispatch.sent || !channel?.takesActions) continue;
      this.show(channel, dispatch);
      this.send(dispatch);
    }
  }

  private send(dispatch: Dispatch): void {
    const {channel, seq, action} = dispatch;
    dispatch.sent = this.calls.notify('dispatchAction', {channel, clientSeq: seq, action});
    if (dispatch.sent) dispatch.stop = this.timer.after(ACTION_PATIENCE, () => this.lostPatience(dispatch));
  }

  // The host has to show first that it is there; otherwise the next wire tells.
  private lostPatience(dispatch: Dispatch): void {
    if (!this.up) return;
    const done = (): void => {
      if (this.dispatches.has(dispatch)) this.fail(dispatch, 'the host did not answer it');
    };
    this.calls.call('ping', {channel: ROOT}, {done, failed: () => {}});
  }

  // What the host tells.

  /** Apply an envelope to its channel, then end the action that it answers. */
  onAction(envelope: J): void {
    if (!isEnvelope(envelope)) return;
    this.highWater = Math.max(this.highWater, envelope.serverSeq);
    const action: J = envelope.action;
    const unlisted = action.type === 'root/terminalsChanged' ? this.unlisted(action) : [];
    const channel = this.channels.get(envelope.channel);
    if (channel) this.guarded(channel, () => channel.apply(envelope)?.verdict);
    for (const terminal of unlisted) this.mayBeGone(terminal, 'the terminal was removed');
    const origin = envelope.origin;
    const answered = origin?.clientId === this.clientId ? this.dispatches.take(origin.clientSeq) : undefined;
    if (answered) {
      const reason = envelope.rejectionReason;
      answered.end(reason == null ? {ok: true} : {ok: false, why: 'rejected', text: String(reason)});
      this.ended(answered);
    }
    if (envelope.rejectionReason == null) this.onChats(envelope.channel, action);
  }

  /** Apply the envelopes that came before a channel was resumed. */
  applyEarly(channel: FollowedChannel): void {
    this.guarded(channel, () => {
      channel.applyEarly();
      return 'applied';
    });
  }

  // What cannot be applied is read anew, and so is a channel whose host seems to count from the start.
  private guarded(channel: FollowedChannel, apply: () => string | undefined): void {
    try {
      const verdict = apply();
      if (verdict !== 'stale') {
        this.changed.add(channel.uri);
      } else if (channel.unproven) {
        channel.unproven = false;
        this.ensureOpen(channel, true);
      }
    } catch (error) {
      if (!(error instanceof DoesNotFit)) throw error;
      this.ensureOpen(channel, true);
    }
  }

  /** The followed terminals that the host's list has and is about to have no more. */
  private unlisted(action: J): FollowedChannel[] {
    const root: J = this.channels.get(ROOT)?.mirror?.confirmed;
    const kept = new Set((action.terminals ?? []).map((info: J) => info?.resource));
    const before: string[] = (root?.terminals ?? []).map((info: J) => info?.resource);
    return before.filter(uri => !kept.has(uri)).flatMap(uri => this.channels.get(uri) ?? []);
  }

  // A session lost or gained a chat, which may have moved and is followed on under the same name.
  private onChats(session: string, action: J): void {
    if (action.type === 'session/chatAdded') {
      const channel = this.channels.get(action.summary?.resource);
      if (channel) channel.owner = session;
    } else if (action.type === 'session/chatRemoved') {
      const channel = this.channels.get(action.chat);
      if (!channel) return;
      if (channel.owner === session) channel.owner = undefined;
      this.mayBeGone(channel, 'the chat was removed');
    }
  }

  private mayBeGone(channel: FollowedChannel, why: string): void {
    channel.removed = why;
    this.ensureOpen(channel, true);
  }

  private notice(method: string, params: J): void {
    if (method === 'root/sessionRemoved') this.sessionGone(String(params?.session));
    this.onNotice(method, params);
  }

  private sessionGone(session: string): void {
    const chats: J[] = (this.channels.get(session)?.mirror?.state as J)?.chats ?? [];
    const owned = [...this.channels.values()].filter(channel => channel.owner === session).map(channel => channel.uri);
    for (const uri of [session, annotationsUri(session), ...owned, ...chats.map(chat => chat.resource)]) {
      const channel = this.channels.get(uri);
      if (channel) this.channelGone(channel, 'the session was removed');
    }
  }
}
