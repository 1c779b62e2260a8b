/**
 * How much of a terminal's output is kept.
 *
 * Hosts cut off the beginning of what they keep and say nothing of it; whoever follows a terminal for
 * long has to do the same, or fills the memory.
 */
import type {J} from './edits.ts';

/** Characters of a terminal's output at which its beginning is cut off; hosts keep fewer. */
export const MOST_KEPT = 400_000;
// What is left then, so that it is not cut all the time.
const LEFT = 300_000;
// What a part counts beside its text: thousands of commands without output are much, too.
const PART = 64;

/** Counts what a terminal prints, and says when its state has to be cut. */
export class Scrollback {
  private grown = 0;

  /** Take note of a snapshot. */
  restart(): void {
    this.grown = 0;
  }

  /** Count an action that was applied; whether the state has to be cut. */
  take(action: J): boolean {
    const text: unknown = action.type === 'terminal/data' ? action.data : undefined;
    this.grown += PART + (typeof text === 'string' ? text.length : 0);
    if (this.grown <= MOST_KEPT - LEFT) return false;
    this.grown = 0;
    return true;
  }
}

/** All output that a terminal's state holds. */
export const printed = (state: J): string => state.content.map(textOf).join('');

/** A terminal's state with no more output than is kept; commands that run stay. */
export function cut<S>(state: S, most = MOST_KEPT, left = LEFT): S {
  const parts: readonly J[] = (state as J).content;
  if (parts.reduce((sum, part) => sum + textOf(part).length + PART, 0) <= most) return state;
  const kept: J[] = [];
  let room = left;
  for (const part of parts.toReversed()) {
    const text = textOf(part);
    if (room > 0 || !kept.length) kept.push(text.length <= room ? part : shortened(part, text, room));
    else if (part?.isComplete === false) kept.push({...part, output: ''});
    room -= text.length + PART;
  }
  return {...state, content: kept.toReversed()};
}

function textOf(part: J): string {
  const text: unknown = part?.type === 'command' ? part.output : part?.type === 'unclassified' ? part.value : '';
  return typeof text === 'string' ? text : '';
}

function shortened(part: J, text: string, room: number): J {
  const end = text.slice(text.length - Math.max(room, 0));
  // Behind a line's end there is no half of an escape sequence, as a rule.
  const rest = end.slice(end.indexOf('\n') + 1);
  return part.type === 'command' ? {...part, output: rest} : {...part, value: rest};
}
