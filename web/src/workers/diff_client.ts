/** Asks the diff worker, which is made when it is needed and ended when it has been idle. */
import {type Aligned, diffRows} from './diff_rows.ts';
import type {DiffAsk, DiffTold} from './diff.worker.ts';

/** What the client needs of a worker. */
export interface DiffPort {
  ask(ask: DiffAsk): void;
  end(): void;
}
/** Makes a worker that tells what it found, or that it failed. */
export type OpenPort = (told: (answer: DiffTold) => void, failed: () => void) => DiffPort;

// Milliseconds after which a worker that nobody asks is ended.
const IDLE = 30_000;
// One that does not answer is stuck; aligning stops itself long before.
const STUCK = 5_000;

interface Waiting {
  readonly ask: DiffAsk;
  readonly answer: (told: Aligned) => void;
}

/** One worker and those who wait for it. */
export class DiffClient {
  private readonly open: OpenPort;
  private port: DiffPort | undefined;
  private readonly waiting = new Map<number, Waiting>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private last = 0;

  constructor(open: OpenPort) {
    this.open = open;
  }

  /** Align two texts; always answers, without aligning them if the worker fails. */
  rows(before: string, after: string): Promise<Aligned> {
    const ask: DiffAsk = {id: ++this.last, before, after};
    return new Promise(answer => {
      this.waiting.set(ask.id, {ask, answer});
      try {
        this.port ??= this.open(told => this.told(told), () => this.fail());
        this.port.ask(ask);
        this.restart(STUCK);
      } catch {
        this.fail();
      }
    });
  }

  private told({id, rows, tooDifferent}: DiffTold): void {
    const asked = this.waiting.get(id);
    this.waiting.delete(id);
    asked?.answer({rows, tooDifferent});
    this.restart(this.waiting.size ? STUCK : IDLE);
  }

  private restart(ms: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.fail(), ms);
  }

  // Ends the worker; whoever waits gets what needs no aligning.
  private fail(): void {
    clearTimeout(this.timer);
    this.port?.end();
    this.port = undefined;
    const left = [...this.waiting.values()];
    this.waiting.clear();
    for (const {ask, answer} of left) answer(diffRows(ask.before, ask.after, {patience: 0}));
  }
}
