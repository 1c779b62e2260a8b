/**
 * Keeps a wire to the host up: opens sockets, backs off, notices silence, and knows when to stop.
 *
 * Owns when there is a wire; what is said on it is the core's. Sockets, time and chance are handed in.
 */
import {STABLE, afterClose, afterRefusal, delay} from '../ahp/backoff.ts';
import {type Core, type Resumed, type Timer, WireError} from '../ahp/index.ts';
import type {Admission} from './admission.ts';
import type {OpenSocket, Socket} from './socket.ts';
import type {Tap} from './tap.ts';

/** How things are between the page and the host. */
export type Live = 'connecting' | 'live' | 'reconnecting' | 'offline' | 'signedOut' | 'superseded' | 'failed';

/** Milliseconds of silence after which a visible page asks whether the host is there, and in which it must answer. */
export const PING_EVERY = 20_000;
export const PING_PATIENCE = 10_000;
/** Milliseconds in which a socket must open and the handshake be done. */
export const HANDSHAKE_PATIENCE = 20_000;
/** Milliseconds between attempts at most while somebody looks and waits. */
export const WATCHED = 5_000;
/** Milliseconds of a lost connection that nobody is bothered with. */
export const QUIET_LOSS = 1_000;

/** What the link needs of its surroundings. */
export interface LinkWorld {
  readonly open: OpenSocket;
  readonly timer: Timer;
  readonly tap: Tap;
  /** Random in [0, 1). */
  roll(): number;
  /** Why a socket may not have opened. */
  admission(): Promise<Admission>;
  isOnline(): boolean;
  isVisible(): boolean;
}

export class Link {
  /** Called at every change of what `live` and `detail` say. */
  onLive: () => void = () => {};
  /** Called after each handshake. */
  onUp: (resumed: Resumed) => void = () => {};
  live: Live = 'connecting';
  /** Why, for states that need a reason. */
  detail = '';
  /** Unix milliseconds at which the host was last heard. */
  heardAt: number;
  /** Whether there is something on the screen that was once true: then a lost host is a reconnecting one. */
  hasShown = false;
  private readonly core: Core;
  private readonly world: LinkWorld;
  private socket: Socket | undefined;
  private isUp = false;
  private upSince = 0;
  private attempt = 0;
  // Whether an attempt of ours was given up unanswered: a host may get round to it late, and then throw out the newer one.
  private abandoned = false;
  private isEnded = false;
  // Stop functions of timers.
  private stopTimers: (() => void)[] = [];
  private stopRetry: () => void = () => {};
  private stopQuiet: (() => void) | undefined;
  private stopPing: () => void = () => {};
  private stopPatience: (() => void) | undefined;

  constructor(core: Core, world: LinkWorld) {
    this.core = core;
    this.world = world;
    this.heardAt = world.timer.now();
  }

  /** Connect, and stay connected. */
  start(): void {
    this.isEnded = false;
    this.tryNow();
  }

  /** Try at once; after an end (signed out, superseded, failed) start over. */
  retry(): void {
    if (this.isUp) return;
    this.isEnded = false;
    this.attempt = 0;
    this.drop('a new attempt took its place');
    if (this.live !== 'reconnecting' && this.live !== 'offline') this.become('connecting');
    this.tryNow();
  }

  /** End for good. */
  end(live: Live, detail = ''): void {
    this.isEnded = true;
    this.stopRetry();
    this.drop(detail || 'the connection was ended');
    this.stopQuiet?.();
    this.stopQuiet = undefined;
    this.become(live, detail);
  }

  /** The network came back, the tab became visible, the page came out of a cache: see what is left. */
  wake(): void {
    if (this.isEnded) return;
    if (this.isUp) this.ping();
    else if (!this.socket) {
      this.attempt = 0;
      this.tryNow();
    }
  }

  /** The browser says that there is no network. */
  wentOffline(): void {
    if (this.isUp) this.ping();
    else if (this.live === 'reconnecting') this.become('offline');
  }

  // Attempts.

  private tryNow(): void {
    this.stopRetry();
    const timer = this.world.timer;
    let isOpen = false;
    const socket = this.world.open({
      opened: () => {
        isOpen = true;
        this.heard();
        this.shakeHands(socket);
      },
      message: text => this.receive(socket, text),
      closed: (code, reason) => {
        if (this.socket === socket) this.closed(code, reason, isOpen);
      },
    });
    this.socket = socket;
    this.stopTimers.push(
      timer.after(HANDSHAKE_PATIENCE, () => {
        if (this.socket !== socket || this.isUp) return;
        this.abandoned = isOpen;
        this.lose(socket, 'the host does not answer');
      }),
    );
  }

  private shakeHands(socket: Socket): void {
    const wire = {
      send: (frame: unknown): void => {
        const text = JSON.stringify(frame);
        socket.send(text);
        this.world.tap.add('out', text);
      },
      close: (code?: number): void => socket.close(code),
    };
    this.core.attach(wire).then(
      resumed => this.socket === socket && this.cameUp(resumed),
      (error: Error) => this.socket === socket && this.handshakeFailed(socket, error),
    );
  }

  private cameUp(resumed: Resumed): void {
    this.isUp = true;
    this.hasShown = true;
    this.upSince = this.world.timer.now();
    this.clearTimers();
    this.stopQuiet?.();
    this.stopQuiet = undefined;
    this.schedulePing();
    this.become('live');
    this.onUp(resumed);
  }

  private handshakeFailed(socket: Socket, error: Error): void {
    if (!(error instanceof WireError)) {
      this.lose(socket, error.message);
      return;
    }
    if (afterRefusal(error.code) === 'refused') this.end('failed', error.message);
    else this.lose(socket, error.message);
  }

  // Losing.

  private closed(code: number, reason: string, wasOpen: boolean): void {
    const verdict = afterClose(code, reason, this.isUp);
    if (verdict === 'superseded' && !this.abandoned) {
      this.end('superseded', reason);
    } else if (verdict === 'refused') {
      // The host ends what it has admitted only for tokens that have ended, and for breaking the protocol.
      this.end(reason.includes('token') ? 'signedOut' : 'failed', reason);
    } else {
      this.abandoned = false;
      this.down(reason || `the connection ended (${code})`, !wasOpen);
    }
  }

  private lose(socket: Socket, why: string): void {
    if (this.socket !== socket) return;
    this.socket = undefined;
    socket.close();
    this.down(why, false);
  }

  private down(why: string, unopened: boolean): void {
    const {timer} = this.world;
    const lasted = this.isUp && timer.now() - this.upSince >= STABLE;
    if (lasted) this.attempt = 0;
    this.drop(why);
    if (!this.hasShown) this.become(this.world.isOnline() ? 'connecting' : 'offline', why);
    else if (this.live === 'live') this.loseQuietly();
    else this.become(this.lostLive(), why);
    if (unopened) void this.world.admission().then(admission => this.after(admission));
    else this.retryLater();
  }

  private after(admission: Admission): void {
    if (this.isEnded || this.socket) return;
    if (admission === 'signedOut') this.end('signedOut');
    else if (typeof admission === 'object' && 'refused' in admission) this.end('failed', admission.refused);
    else this.retryLater(typeof admission === 'object' ? admission.waitMs : 0);
  }

  private retryLater(atLeast = 0): void {
    const rolled = delay(this.attempt, this.world.roll());
    const wait = Math.max(atLeast, this.world.isVisible() ? Math.min(rolled, WATCHED) : rolled);
    this.attempt += 1;
    this.stopRetry();
    this.stopRetry = this.world.timer.after(wait, () => this.tryNow());
  }

  // A hiccup that is over within a second changes nothing on the screen.
  private loseQuietly(): void {
    this.stopQuiet ??= this.world.timer.after(QUIET_LOSS, () => {
      this.stopQuiet = undefined;
      if (!this.isUp && !this.isEnded) this.become(this.lostLive());
    });
  }

  private lostLive(): Live {
    return this.world.isOnline() ? 'reconnecting' : 'offline';
  }

  private drop(why: string): void {
    const socket = this.socket;
    this.socket = undefined;
    this.isUp = false;
    this.clearTimers();
    socket?.close();
    this.core.detach(why);
  }

  private clearTimers(): void {
    for (const stop of this.stopTimers) stop();
    this.stopTimers = [];
    this.stopPing();
    this.stopPatience?.();
    this.stopPatience = undefined;
  }

  private become(live: Live, detail = ''): void {
    if (this.live === live && this.detail === detail) return;
    this.live = live;
    this.detail = detail;
    this.onLive();
  }

  // What comes in, and silence.

  private receive(socket: Socket, text: string): void {
    if (this.socket !== socket) return;
    this.heard();
    this.world.tap.add('in', text);
    let frame: unknown;
    try {
      frame = JSON.parse(text);
    } catch {
      this.lose(socket, 'the host sent what is no JSON');
      return;
    }
    this.core.receive(frame);
  }

  private heard(): void {
    this.heardAt = this.world.timer.now();
    this.stopPatience?.();
    this.stopPatience = undefined;
  }

  private schedulePing(): void {
    this.stopPing();
    const {timer} = this.world;
    const silence = timer.now() - this.heardAt;
    this.stopPing = timer.after(Math.max(1_000, PING_EVERY - silence), () => {
      // A hidden tab may sleep: it asks when it is looked at again.
      if (this.world.isVisible() && timer.now() - this.heardAt >= PING_EVERY) this.ping();
      this.schedulePing();
    });
  }

  private ping(): void {
    const socket = this.socket;
    if (!socket || this.stopPatience) return;
    this.stopPatience = this.world.timer.after(PING_PATIENCE, () => {
      this.stopPatience = undefined;
      this.lose(socket, 'the host does not answer');
    });
    // Any frame proves that the host is there; the answer is one.
    this.core.request('ping', {}).catch(() => {});
  }
}
