/**
 * The copy of one channel: the confirmed state, and own pending actions on top of it.
 *
 * Owns write-ahead reconciliation: an action shows at once, the host's order wins, a refusal takes it
 * back. Knows no connection and no other channel.
 */
import {PendingOverlay} from './overlay.ts';
import {type States, reduce} from './reduction.ts';
import {type Kind, touched} from './registry.ts';
import {Scrollback, cut} from './scrollback.ts';
import type {ActionEnvelope, StateAction} from './types.ts';

/** What became of an envelope. Stale ones were seen before; `own` ones answer a pending action of ours. */
export interface Received {
  readonly verdict: 'stale' | 'applied' | 'rejected';
  readonly own: boolean;
}

/** An action that cannot be applied to the state: the channel needs a fresh snapshot. */
export class DoesNotFit extends Error {
  override readonly name = 'DoesNotFit';
}

export class Mirror<K extends Kind = Kind> {
  readonly kind: K;
  /** The last serverSeq that counts; may go down when a host starts to count anew. */
  seq = 0;
  // The one whose actions may answer ours.
  private readonly clientId: string;
  private readonly reducer: typeof reduce;
  private readonly scrollback: Scrollback | undefined;
  private confirmedState: States[K];
  // Our unanswered actions by number, in the order of their dispatch.
  private readonly waiting = new Map<number, StateAction>();
  // The members of the state that pending actions touch, and maybe more; undefined for any.
  private touches: ReadonlySet<string> | undefined = new Set();
  // The confirmed state with all pending actions on it, once somebody asked.
  private predicted: PendingOverlay | undefined;

  constructor(kind: K, state: States[K], seq: number, o: {clientId?: string; reduce?: typeof reduce} = {}) {
    this.kind = kind;
    this.clientId = o.clientId ?? '';
    this.reducer = o.reduce ?? reduce;
    this.scrollback = kind === 'terminal' ? new Scrollback() : undefined;
    this.confirmedState = state;
    this.reset(state, seq);
  }

  /** The state as the host has it. */
  get confirmed(): States[K] {
    return this.confirmedState;
  }

  /** The state as the host has it with our pending actions on top: what to show. */
  get state(): States[K] {
    if (!this.waiting.size) return this.confirmedState;
    if (!this.predicted?.movedTo(this.confirmedState)) {
      let state = this.confirmedState;
      for (const action of this.waiting.values()) state = this.predict(state, action);
      this.predicted = new PendingOverlay(this.confirmedState, state, this.touches);
    }
    return this.predicted.result as States[K];
  }

  /** The numbers of our unanswered actions, oldest first. */
  get pending(): readonly number[] {
    return [...this.waiting.keys()];
  }

  /** Start over from a fresh snapshot; nothing is pending afterwards. */
  reset(state: States[K], seq: number): void {
    this.seq = seq;
    this.confirmedState = state;
    this.scrollback?.restart();
    this.waiting.clear();
    this.predicted = undefined;
  }

  /** Show an action of ours from now on. */
  dispatch(clientSeq: number, action: StateAction): void {
    const before = this.state;
    const members = touched(action.type);
    const others = this.waiting.size ? this.touches : new Set<string>();
    this.touches = members && others ? new Set([...members, ...others]) : undefined;
    this.waiting.set(clientSeq, action);
    this.predicted = new PendingOverlay(this.confirmedState, this.predict(before, action), this.touches);
  }

  /**
   * Apply an envelope of this channel, whoever's action it carries.
   *
   * @throws DoesNotFit the action cannot be applied to this state
   */
  receive(envelope: ActionEnvelope): Received {
    if (envelope.serverSeq <= this.seq) return {verdict: 'stale', own: false};
    this.seq = envelope.serverSeq;
    const origin = envelope.origin;
    const own = origin != null && origin.clientId === this.clientId && this.forget(origin.clientSeq);
    // Nobody applies it, whoever sent it; ours is not shown any more.
    if (envelope.rejectionReason != null) return {verdict: 'rejected', own};
    try {
      this.confirmedState = this.reducer(this.kind, this.confirmedState, envelope.action);
    } catch (error) {
      throw new DoesNotFit(`${envelope.action.type} does not fit the state`, {cause: error});
    }
    if (this.scrollback?.take(envelope.action)) this.confirmedState = cut(this.confirmedState);
    return {verdict: 'applied', own};
  }

  /** Stop showing one pending action; false when it was not pending. */
  forget(clientSeq: number): boolean {
    if (!this.waiting.delete(clientSeq)) return false;
    this.predicted = undefined;
    return true;
  }

  private predict(state: States[K], action: StateAction): States[K] {
    try {
      return this.reducer(this.kind, state, action);
    } catch {
      // The host has sent a state that no action fits on; ours shows once it has answered.
      return state;
    }
  }
}
