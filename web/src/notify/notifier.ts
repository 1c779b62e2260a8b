/** When something is told: after a moment, unless it was settled or somebody looks at the page; and taken back once it is settled. */
import type {Timer} from '../ahp/index.ts';
import type {Reason} from './reasons.ts';

/** Milliseconds: what is answered at once, or seen, is not worth a buzz. */
export const TELL_AFTER = 5_000;

/** What shows notifications; what takes a while is told by a promise. */
export interface Shows {
  show(reason: Reason): Promise<void> | undefined;
  close(session: string): Promise<void> | undefined;
  isVisible(): boolean;
}

export class Notifier {
  private readonly timer: Timer;
  private readonly shows: Shows;
  private readonly held = new Map<string, {reason: Reason; isShown: boolean; stop(): void}>();
  // Session -> what is being done about its notification.
  private readonly underWay = new Map<string, Promise<void>>();

  constructor(timer: Timer, shows: Shows) {
    this.timer = timer;
    this.shows = shows;
  }

  /** Take note of the reasons that hold now. */
  changed(reasons: ReadonlyMap<string, Reason>): void {
    for (const [session, held] of this.held) {
      const reason = reasons.get(session);
      if (reason?.id === held.reason.id && reason.kind === held.reason.kind) {
        // Its title may be known only now.
        held.reason = reason;
        continue;
      }
      held.stop();
      this.held.delete(session);
      if (held.isShown) this.close(session);
    }
    for (const [session, reason] of reasons) if (!this.held.has(session)) this.hold(session, reason);
  }

  /** Take back what is shown: somebody looks. */
  seen(): void {
    for (const [session, held] of this.held) {
      if (!held.isShown) continue;
      held.isShown = false;
      this.close(session);
    }
  }

  private hold(session: string, reason: Reason): void {
    const held = {reason, isShown: false, stop: () => {}};
    held.stop = this.timer.after(TELL_AFTER, () => {
      if (this.shows.isVisible()) return;
      held.isShown = true;
      this.inOrder(session, () => this.shows.show(held.reason));
    });
    this.held.set(session, held);
  }

  private close(session: string): void {
    this.inOrder(session, () => this.shows.close(session));
  }

  // What is taken back while it is about to be shown would stay for good.
  private inOrder(session: string, work: () => Promise<void> | undefined): void {
    const before = this.underWay.get(session);
    const working = before ? before.then(work) : work();
    if (!working) return;
    const done = working
      .catch(() => undefined)
      .then(() => {
        if (this.underWay.get(session) === done) this.underWay.delete(session);
      });
    this.underWay.set(session, done);
  }
}
