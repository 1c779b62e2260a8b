/**
 * What a terminal's state adds to what a screen shows already (pure).
 *
 * A state holds the end of what was printed, and numbers nothing; its beginning is cut off without a
 * word, here and on the host. So the new text is laid over the old one.
 */
import type {TerminalState} from '../../ahp/index.ts';

/** What to do with a screen: write more, or begin anew with this. */
export interface Step {
  readonly anew: boolean;
  readonly text: string;
}

// An overlap shorter than this may be chance: a state is then shown from its beginning.
const LEAST_OVERLAP = 1_024;

/** Follows the states of one terminal. */
export class Output {
  private told = '';
  private hasBegun = false;

  /** What a state adds; undefined if nothing. */
  step(state: TerminalState): Step | undefined {
    const text = printed(state);
    const before = this.told;
    this.told = text;
    if (!this.hasBegun) {
      this.hasBegun = true;
      return {anew: true, text};
    }
    if (text.length >= before.length && text.startsWith(before)) return more(text.slice(before.length));
    const common = overlap(before, text);
    return common >= LEAST_OVERLAP ? more(text.slice(common)) : {anew: true, text};
  }
}

const more = (text: string): Step | undefined => (text ? {anew: false, text} : undefined);

/** All output that a state holds; parts of a kind that nobody knows have none. */
export function printed(state: TerminalState): string {
  let text = '';
  for (const part of state.content) text += (part.type === 'command' ? part.output : part.value) ?? '';
  return text;
}

/** How many characters at the end of one text are the beginning of another, at most; in linear time. */
export function overlap(before: string, after: string): number {
  const end = before.slice(Math.max(0, before.length - after.length));
  const borders = new Int32Array(after.length);
  const extended = (length: number, mark: number): number => {
    let kept = length;
    while (kept && (kept === after.length || mark !== after.charCodeAt(kept))) kept = borders[kept - 1]!;
    return mark === after.charCodeAt(kept) ? kept + 1 : kept;
  };
  for (let index = 1; index < after.length; index++) borders[index] = extended(borders[index - 1]!, after.charCodeAt(index));
  let length = 0;
  for (let index = 0; index < end.length; index++) length = extended(length, end.charCodeAt(index));
  return length;
}
