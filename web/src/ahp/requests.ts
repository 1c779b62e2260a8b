/** Requests that outlive a wire: they wait for the next one, and those that change nothing are repeated. */
import {type Calls, LinkLost, type Timer} from './calls.ts';
import {withResolvers} from './dispatches.ts';
import type {J} from './edits.ts';
import {ROOT} from './uris.ts';

/** Milliseconds within which a request must be answered, waiting for a wire included. */
const PATIENCE = 60_000;

// Requests that change nothing: sent again when their answer was lost.
const REPEATABLE: ReadonlySet<string> = new Set([
  'completions', 'listAutomationTriggerDefinitions', 'listSessions', 'ping', 'resolveSessionConfig', 'resourceList',
  'resourceRead', 'resourceResolve', 'sessionConfigCompletions',
]);
const MOST_TRIES = 6;

export class Requests {
  private readonly calls: Calls;
  private readonly timer: Timer;
  private isUp = false;
  private waiting: (() => void)[] = [];

  constructor(calls: Calls, timer: Timer) {
    this.calls = calls;
    this.timer = timer;
  }

  /** Send what waited: the handshake on a wire is done. */
  cameUp(): void {
    this.isUp = true;
    const waiting = this.waiting;
    this.waiting = [];
    for (const go of waiting) go();
  }

  wentDown(): void {
    this.isUp = false;
  }

  /** Send a request now, or once there is a wire. */
  request(method: string, params: J, o: {timeoutMs?: number; repeat?: boolean}): Promise<J> {
    const {promise, resolve, reject} = withResolvers<J>();
    // A cursor is worth nothing on another connection.
    const isRepeatable = o.repeat || (REPEATABLE.has(method) && !Object.hasOwn(params, 'cursor'));
    let triesLeft = isRepeatable ? MOST_TRIES : 1;
    let forget: (() => void) | undefined;
    const cancel = this.timer.after(o.timeoutMs ?? PATIENCE, () => {
      forget?.();
      this.waiting = this.waiting.filter(other => other !== go);
      reject(new LinkLost('the host did not answer in time'));
    });
    const go = (): void => {
      triesLeft -= 1;
      forget = this.calls.call(method, {channel: ROOT, ...params}, {
        done: result => {
          cancel();
          resolve(result);
        },
        failed: error => {
          if (error instanceof LinkLost && triesLeft > 0) {
            this.waiting.push(go);
            return;
          }
          cancel();
          reject(error);
        },
      });
    };
    if (this.isUp) go();
    else this.waiting.push(go);
    return promise;
  }
}
