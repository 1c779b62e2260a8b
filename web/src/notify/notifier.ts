/** When something is told: after a moment, unless it was settled or somebody looks at the page; and taken back once it is settled. */
import type {Timer} from '../ahp/index.ts';
import type {Reason} from './reasons.ts';

/** Milliseconds: what is answered at once, or seen, is not worth a buzz. */
export const TELL_AFTER = 5_000;

/** What shows notifications. */
export interface Shows {
  show(reason: Reason): void;
  close(session: string): void;
  isVisible(): boolean;
}

export class Notifier {
  private readonly timer: Timer;
  private readonly shows: Shows;
  private readonly held = new Map<string, {readonly reason: Reason; isShown: boolean; stop(): void}>();

  constructor(timer: Timer, shows: Shows) {
    this.timer = timer;
    this.shows = shows;
  }

  /** Take note of the reasons that hold now. */
  changed(reasons: ReadonlyMap<string, Reason>): void {
    for (const [session, held] of this.held) {
      const reason = reasons.get(session);
      if (reason?.id === held.reason.id && reason.kind === held.reason.kind) continue;
      held.stop();
      this.held.delete(session);
      if (held.isShown) this.shows.close(session);
    }
    for (const [session, reason] of reasons) if (!this.held.has(session)) this.hold(session, reason);
  }

  /** Take back what is shown: somebody looks. */
  seen(): void {
    for (const [session, held] of this.held) {
      if (!held.isShown) continue;
      held.isShown = false;
      this.shows.close(session);
    }
  }

  private hold(session: string, reason: Reason): void {
    const held = {reason, isShown: false, stop: () => {}};
    held.stop = this.timer.after(TELL_AFTER, () => {
      if (this.shows.isVisible()) return;
      held.isShown = true;
      this.shows.show(reason);
    });
    this.held.set(session, held);
  }
}
