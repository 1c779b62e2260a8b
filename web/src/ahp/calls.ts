/**
 * JSON-RPC requests over a wire that comes and goes.
 *
 * Owns matching answers with requests, waiting for a wire, and repeating what changes nothing. What
 * adopts an answer runs at once, before the next frame is looked at: a snapshot and the actions
 * behind it must not pass each other.
 */
import type {J} from './edits.ts';

export interface Timer {
  now(): number;
  after(ms: number, run: () => void): () => void;
}

export interface JsonRpc {
  readonly jsonrpc: '2.0';
  readonly id?: number | string | null;
  readonly method?: string;
  readonly params?: J;
  readonly result?: J;
  readonly error?: {readonly code: number; readonly message: string; readonly data?: J};
}

export interface Wire {
  send(frame: JsonRpc): void;
  close(code?: number): void;
}

/** The host's refusal of a request. */
export class WireError extends Error {
  override readonly name = 'WireError';
  readonly code: number;
  readonly data: J;

  constructor(code: number, message: string, data?: J) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** The wire was lost, or no answer came in time. */
export class LinkLost extends Error {
  override readonly name = 'LinkLost';
}

/** What becomes of a request. */
export interface Answer {
  done(result: J): void;
  failed(error: Error): void;
}

export class Calls {
  private readonly open = new Map<number, Answer>();
  private lastId = 0;
  private wire: Wire | undefined;

  /** Use a wire from now on; without any, whatever is open is lost. */
  use(wire: Wire | undefined, why = ''): void {
    this.wire = wire;
    const lost = [...this.open.values()];
    this.open.clear();
    for (const answer of lost) answer.failed(new LinkLost(why));
  }

  /** Send a request; a stop function forgets it. */
  call(method: string, params: J, answer: Answer): () => void {
    const id = (this.lastId += 1);
    this.open.set(id, answer);
    if (!this.send({jsonrpc: '2.0', id, method, params})) {
      this.open.delete(id);
      answer.failed(new LinkLost('there is no connection'));
    }
    return () => this.open.delete(id);
  }

  /** Send a notification; false when it surely has not left. */
  notify(method: string, params: J): boolean {
    return this.send({jsonrpc: '2.0', method, params});
  }

  /** Take in an answer; false if it answers nothing. */
  answered(frame: J): boolean {
    const answer = this.open.get(frame.id);
    if (!answer) return false;
    this.open.delete(frame.id);
    const error = frame.error;
    if (error == null) answer.done(frame.result);
    else answer.failed(new WireError(Number(error.code), String(error.message), error.data));
    return true;
  }

  /** Refuse a request of the host's: this client serves none. */
  refuse(id: J): void {
    this.send({jsonrpc: '2.0', id, error: {code: -32601, message: 'this client serves no requests'}});
  }

  private send(frame: JsonRpc): boolean {
    try {
      this.wire?.send(frame);
      return this.wire !== undefined;
    } catch {
      return false;
    }
  }
}
