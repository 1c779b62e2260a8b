/** Who sets the size of a terminal: the window that typed last (pure). */

export interface Size {
  readonly cols: number;
  readonly rows: number;
}

export const sameSize = (one: Size | undefined, other: Size | undefined): boolean =>
  one !== undefined && other !== undefined && one.cols === other.cols && one.rows === other.rows;

/** What a window knows of a terminal's size. */
export class Sizing {
  /** What fits into this window's box. */
  private fits: Size | undefined;
  /** What the host says. */
  private told: Size | undefined;
  private isOurs: boolean;
  /** What this window has asked for and not heard of yet, oldest first. */
  private asked: Size[] = [];

  /** `isOurs`: this window has made the terminal. */
  constructor(isOurs = false) {
    this.isOurs = isOurs;
  }

  /** The size in which the terminal is drawn here. */
  get shown(): Size | undefined {
    return this.told ?? this.fits;
  }

  /** Whether somebody else has set a size that is not this window's. */
  get isForeign(): boolean {
    return !this.isOurs && this.told !== undefined && this.fits !== undefined && !sameSize(this.told, this.fits);
  }

  /** The box has this size; the size to tell the host, if it is for this window to do so and it can. */
  fitted(size: Size, mayTell = true): Size | undefined {
    this.fits = size;
    return this.isOurs && mayTell ? this.wanted() : undefined;
  }

  /** The host says a size. One that this window has not asked for is another window's. */
  hears(size: Size | undefined): void {
    const index = this.asked.findIndex(asked => sameSize(asked, size));
    if (index >= 0) {
      this.asked = this.asked.slice(index + 1);
      // Something newer is on its way.
      if (this.asked.length) return;
    } else if (size && this.told && !sameSize(size, this.told)) {
      this.isOurs = false;
      this.asked = [];
    }
    this.told = size;
  }

  /** Somebody types here, or asks for this window's size; the size to tell the host, if it is another one. */
  take(): Size | undefined {
    this.isOurs = true;
    return this.wanted();
  }

  private wanted(): Size | undefined {
    if (!this.fits || sameSize(this.fits, this.told)) return undefined;
    this.told = this.fits;
    this.asked.push(this.fits);
    return this.fits;
  }
}
