/**
 * When what changed reaches the screen: once per frame, in one batch.
 *
 * After a draw that took long, the next one waits, so that a fast stream leaves a slow machine time
 * to answer its user. The wait is bounded, so that text still moves.
 */
import {batch} from '@preact/signals';

/** Milliseconds: a draw above this is slow; a slow one is followed by a wait of four times as long, at most this long. */
export const SLOW_DRAW = 8;
export const LONGEST_WAIT = 100;
/** Milliseconds after which what waits is drawn without a frame: a hidden document has none, but a title and a badge. */
export const WITHOUT_FRAME = 250;

/** The clock and the frames of a window. */
export interface FrameWorld {
  now(): number;
  frame(run: () => void): () => void;
  after(ms: number, run: () => void): () => void;
  /** Call a function once the frame that is being made is on the screen. */
  painted(run: () => void): void;
}

export class Frames {
  private readonly world: FrameWorld;
  private jobs = new Set<() => void>();
  private cancel: (() => void) | undefined;
  private earliest = 0;

  constructor(world: FrameWorld) {
    this.world = world;
  }

  /** Run a job with the next frame; one that waits already runs once. */
  readonly schedule = (job: () => void): void => {
    this.jobs.add(job);
    if (this.cancel) return;
    const wait = this.earliest - this.world.now();
    this.cancel = wait > 0 ? this.world.after(wait, () => this.arm()) : this.armed();
  };

  private arm(): void {
    this.cancel = this.armed();
  }

  // Whichever comes first: the frame, or the end of patience.
  private armed(): () => void {
    const stopFrame = this.world.frame(() => this.draw());
    const stopTimer = this.world.after(WITHOUT_FRAME, () => this.draw());
    return () => {
      stopFrame();
      stopTimer();
    };
  }

  private draw(): void {
    this.cancel?.();
    this.cancel = undefined;
    const jobs = this.jobs;
    this.jobs = new Set();
    const started = this.world.now();
    try {
      batch(() => {
        for (const job of jobs) job();
      });
    } finally {
      this.world.painted(() => {
        const ended = this.world.now();
        const took = ended - started;
        this.earliest = took > SLOW_DRAW ? ended + Math.min(LONGEST_WAIT, 4 * took) : 0;
      });
    }
  }
}

/** The frames of this window. */
export function windowFrames(): Frames {
  return new Frames({
    now: () => performance.now(),
    frame: run => {
      const id = requestAnimationFrame(run);
      return () => cancelAnimationFrame(id);
    },
    after: (ms, run) => {
      const id = setTimeout(run, ms);
      return () => clearTimeout(id);
    },
    painted: run => {
      // Components are drawn in a microtask of the frame, layout and paint follow; a message comes after both.
      const {port1, port2} = new MessageChannel();
      port1.addEventListener('message', () => {
        port1.close();
        run();
      }, {once: true});
      port1.start();
      port2.postMessage(0);
    },
  });
}
