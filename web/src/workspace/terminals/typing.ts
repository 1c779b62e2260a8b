/** What is typed into a terminal from this window, and this window's size, on their way to the host. */
import {type ReadonlySignal, signal} from '@preact/signals';
import type {StateAction} from '../../ahp/index.ts';
import type {Act, Store} from '../../store/index.ts';
import {pieces} from './keys.ts';
import {type Size, Sizing} from './sizing.ts';

export class Typing {
  private readonly store: Store;
  private readonly uri: string;
  private readonly sizing: Sizing;
  private readonly foreign = signal(false);
  private readonly latest = signal<Act | undefined>(undefined);
  private room: Size | undefined;

  /** `isOurs`: this window has made the terminal, and so sets its size. */
  constructor(store: Store, uri: string, isOurs: boolean) {
    this.store = store;
    this.uri = uri;
    this.sizing = new Sizing(isOurs);
  }

  /** Whether another window has set a size that is not this one's. */
  get isForeign(): ReadonlySignal<boolean> {
    return this.foreign;
  }

  /** What was done last. */
  get last(): ReadonlySignal<Act | undefined> {
    return this.latest;
  }

  act(action: StateAction): void {
    this.latest.value = this.store.act(this.uri, action, this.uri);
  }

  /** Type something, which also makes this the window that sets the size. */
  type(data: string): void {
    this.takeSize();
    for (const piece of pieces(data)) this.act({type: 'terminal/input', data: piece});
  }

  takeSize(): void {
    this.tell(this.sizing.take());
  }

  /** There is room for a terminal of this size. */
  fits(size: Size): void {
    this.room = size;
    this.tell(this.sizing.fitted(size, this.store.live.peek() === 'live'));
  }

  /** The host can be told again: tell it what it missed. */
  again(): void {
    if (this.room) this.fits(this.room);
  }

  /** The host says a size. */
  hears(size: Size | undefined): void {
    this.sizing.hears(size);
    this.foreign.value = this.sizing.isForeign;
  }

  /** The size in which to draw the terminal. */
  get shown(): Size | undefined {
    return this.sizing.shown;
  }

  private tell(size: Size | undefined): void {
    // Not what somebody did: nobody is told what became of it.
    if (size) this.store.act(this.uri, {type: 'terminal/resized', cols: size.cols, rows: size.rows}, this.uri);
    this.foreign.value = this.sizing.isForeign;
  }
}
