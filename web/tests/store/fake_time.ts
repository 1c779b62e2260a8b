/** A clock that stands still until it is told to move. */
import type {Timer} from '../../src/ahp/index.ts';

export class FakeTimer implements Timer {
  private time = 1_000_000;
  private due: {at: number; run: () => void}[] = [];
  readonly now = (): number => this.time;
  readonly after = (ms: number, run: () => void): (() => void) => {
    const entry = {at: this.time + ms, run};
    this.due.push(entry);
    return () => {
      this.due = this.due.filter(other => other !== entry);
    };
  };

  /** Let time pass, running what becomes due in its order. */
  pass(ms: number): void {
    const end = this.time + ms;
    for (;;) {
      const next = this.due.filter(entry => entry.at <= end).toSorted((one, other) => one.at - other.at)[0];
      if (!next) break;
      this.due = this.due.filter(entry => entry !== next);
      this.time = Math.max(this.time, next.at);
      next.run();
    }
    this.time = end;
  }

  get waiting(): number {
    return this.due.length;
  }
}

/** Let promises settle. */
export const settled = async (): Promise<void> => {
  // Each turn of the loop lets one more link of a chain of promises run.
  // oxlint-disable-next-line no-await-in-loop
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
};
