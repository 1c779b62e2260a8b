/** A host's end of a wire, for a core or a store under test: it answers what the test says and keeps what it got. */
import type {Json, JsonRpc, Timer, Wire} from '../../src/ahp/index.ts';

/** A clock that stands still until the test lets it pass. */
export class FakeTimer implements Timer {
  private time = 0;
  private due: {at: number; run: () => void}[] = [];

  now(): number {
    return this.time;
  }

  after(ms: number, run: () => void): () => void {
    const entry = {at: this.time + ms, run};
    this.due.push(entry);
    return () => {
      this.due = this.due.filter(other => other !== entry);
    };
  }

  pass(ms: number): void {
    this.time += ms;
    const ripe = this.due.filter(entry => entry.at <= this.time);
    this.due = this.due.filter(entry => entry.at > this.time);
    for (const entry of ripe) entry.run();
  }
}

/** A wire whose other end is the test. */
export class FakeWire implements Wire {
  readonly sent: JsonRpc[] = [];
  closed: number | undefined;
  private readonly receive: (frame: unknown) => void;

  constructor(receive: (frame: unknown) => void) {
    this.receive = receive;
  }

  send(frame: JsonRpc): void {
    this.sent.push(frame);
  }

  close(code = 1000): void {
    this.closed = code;
  }

  /** The last request or notification of a method. */
  last(method: string): JsonRpc | undefined {
    return this.sent.findLast(frame => frame.method === method);
  }

  /** Answer the last request of a method. */
  answer(method: string, result: Json): void {
    this.receive({jsonrpc: '2.0', id: this.last(method)?.id, result});
  }

  /** Refuse the last request of a method. */
  refuse(method: string, code: number, message = 'no'): void {
    this.receive({jsonrpc: '2.0', id: this.last(method)?.id, error: {code, message}});
  }

  /** Tell an action of a channel, as an echo if `echo` has whose it is. */
  tell(channel: string, serverSeq: number, action: Json, echo?: {clientId: string; clientSeq: number}, rejectionReason?: string): void {
    const params = {channel, serverSeq, action, ...(echo ? {origin: echo} : {}), ...(rejectionReason === undefined ? {} : {rejectionReason})};
    this.receive({jsonrpc: '2.0', method: 'action', params});
  }

  /** Send a notification. */
  notice(method: string, params: Json): void {
    this.receive({jsonrpc: '2.0', method, params});
  }
}
