/**
 * Dispatched actions and their outcomes.
 *
 * Owns the promise that every action ends in exactly one known way: accepted, rejected, not sent, or
 * uncertain. Knows neither wires nor states.
 */
import type {StateAction} from './types.ts';

export type Outcome = {readonly ok: true} | {readonly ok: false; readonly why: 'rejected' | 'notSent' | 'uncertain'; readonly text: string};

/** Actions that may be without an answer; beyond it a caller is told so at once. */
export const MOST_UNANSWERED = 10_000;

export class Dispatch {
  readonly seq: number;
  readonly channel: string;
  readonly action: StateAction;
  readonly outcome: Promise<Outcome>;
  /** Whether it may have reached the host. It is never sent twice. */
  sent = false;
  /** Stops the timer of its patience. */
  stop: () => void = () => {};
  private readonly settle: (outcome: Outcome) => void;

  constructor(seq: number, channel: string, action: StateAction) {
    this.seq = seq;
    this.channel = channel;
    this.action = action;
    const {promise, resolve} = withResolvers<Outcome>();
    this.outcome = promise;
    this.settle = resolve;
  }

  /** End it; what ended already stays as it is. */
  end(outcome: Outcome): void {
    this.stop();
    this.settle(outcome);
  }

  /** End it without an answer: as uncertain if it may have arrived, else as not sent. */
  fail(text: string): void {
    this.end({ok: false, why: this.sent ? 'uncertain' : 'notSent', text});
  }
}

/** The unanswered actions of one client, in the order of their numbers. */
export class Dispatches {
  private readonly open = new Map<number, Dispatch>();
  private nextSeq: number;

  constructor(firstSeq: number) {
    this.nextSeq = firstSeq;
  }

  /** Give an action its number and keep it until it is answered. */
  add(channel: string, action: StateAction): Dispatch {
    const dispatch = new Dispatch(this.nextSeq, channel, action);
    this.nextSeq += 1;
    if (this.open.size >= MOST_UNANSWERED) dispatch.fail(`${MOST_UNANSWERED} actions wait for the host already`);
    else this.open.set(dispatch.seq, dispatch);
    return dispatch;
  }

  has(dispatch: Dispatch): boolean {
    return this.open.get(dispatch.seq) === dispatch;
  }

  /** Take out the action of that number; undefined when it answers none of these. */
  take(seq: unknown): Dispatch | undefined {
    const dispatch = typeof seq === 'number' ? this.open.get(seq) : undefined;
    if (dispatch) this.open.delete(dispatch.seq);
    return dispatch;
  }

  on(channel: string): Dispatch[] {
    return this.all().filter(dispatch => dispatch.channel === channel);
  }

  all(): Dispatch[] {
    return [...this.open.values()];
  }
}

/** A promise, and what settles it. */
export function withResolvers<T>(): {promise: Promise<T>; resolve(value: T): void; reject(error: Error): void} {
  let resolve!: (value: T) => void;
  let reject!: (error: Error) => void;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return {promise, resolve, reject};
}
