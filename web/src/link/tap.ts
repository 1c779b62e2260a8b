/**
 * The last frames that went over the wire, for the inspector.
 *
 * A ring, so that a page left open for days does not grow. Frames are kept as text, cut, and with
 * everything that looks like a secret masked before they are kept.
 */

/** Frames kept. */
export const MOST_FRAMES = 2_000;
const MOST_TEXT = 20_000;

export interface Frame {
  readonly id: number;
  /** Unix milliseconds. */
  readonly at: number;
  readonly way: 'in' | 'out';
  readonly text: string;
  /** Characters before it was cut. */
  readonly length: number;
}

// Members whose value is a secret, and tokens in addresses.
const SECRET_MEMBER = /("(?:tkn|token|secret|authorization|password|accessToken|refreshToken|auth|p256dh)"\s*:\s*")(?:[^"\\]|\\.)*(")/gi;
const SECRET_IN_TEXT = /((?:[?&#]tkn=|\btkn\.|\bBearer\s+))[\w.~+/%-]+=*/gi;

/** A frame's text with secrets replaced by "***". */
export function masked(text: string): string {
  return text.replace(SECRET_MEMBER, '$1***$2').replace(SECRET_IN_TEXT, '$1***');
}

// A slice of a long string keeps the whole alive; a copy does not.
const cut = (text: string): string =>
  text.length <= MOST_TEXT ? text : new TextDecoder().decode(new TextEncoder().encode(text.slice(0, MOST_TEXT)));

/** The ring, and who looks at it. */
export class Tap {
  private ring: Frame[] = [];
  private start = 0;
  private lastId = 0;
  // What was masked once is not masked again.
  private readonly maskedFrames = new WeakMap<Frame, Frame>();
  private readonly lookers = new Set<() => void>();
  private readonly now: () => number;

  constructor(now: () => number) {
    this.now = now;
  }

  /** Keep a frame. What is never looked at is masked late, so a fast stream costs a slice a frame. */
  add(way: 'in' | 'out', text: string): void {
    this.lastId += 1;
    const frame: Frame = {id: this.lastId, at: this.now(), way, text: cut(text), length: text.length};
    if (this.ring.length < MOST_FRAMES) {
      this.ring.push(frame);
    } else {
      this.ring[this.start] = frame;
      this.start = (this.start + 1) % MOST_FRAMES;
    }
    for (const look of this.lookers) look();
  }

  /** What is kept, oldest first, masked. */
  frames(): Frame[] {
    return [...this.ring.slice(this.start), ...this.ring.slice(0, this.start)].map(frame => this.shown(frame));
  }

  private shown(frame: Frame): Frame {
    let shown = this.maskedFrames.get(frame);
    if (!shown) this.maskedFrames.set(frame, (shown = {...frame, text: masked(frame.text)}));
    return shown;
  }

  clear(): void {
    this.ring = [];
    this.start = 0;
  }

  /** Call a function at every frame; what it returns stops that. */
  watch(look: () => void): () => void {
    this.lookers.add(look);
    return () => this.lookers.delete(look);
  }
}
