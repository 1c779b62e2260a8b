/**
 * The cached result of applying pending actions to the confirmed state.
 *
 * Owns when the last result still holds on a newer state: without it every streamed word would run
 * all pending reducers again. Which members a reducer looks at is said where the reducers are.
 */
import type {J} from './edits.ts';

// What grows in a turn while it runs and decides nothing: no reducer does more than carry it along.
const TEXTS: ReadonlySet<string> = new Set(['markdown', 'reasoning']);

// An absent member, which differs from one that is null.
const ABSENT = Symbol('absent');
const member = (holder: J, key: string): J => (Object.hasOwn(holder, key) ? holder[key] : ABSENT);

export class PendingOverlay {
  result: J;
  private before: J;
  // The members that the actions touch; undefined for any.
  private readonly touched: ReadonlySet<string> | undefined;
  private readonly changed = new Map<string, J>();
  private readonly removed: string[] = [];

  constructor(before: J, result: J, touched: ReadonlySet<string> | undefined) {
    this.before = before;
    this.result = result;
    this.touched = touched;
    for (const key of touched ?? []) {
      const now = member(result, key);
      const then = member(before, key);
      if (now === then) continue;
      if (now === ABSENT) this.removed.push(key);
      else this.changed.set(key, now);
    }
  }

  /** Carry the result over to a newer state; false if the actions must be reduced again. */
  movedTo(state: J): boolean {
    const before = this.before;
    if (state === before) return true;
    if (!this.touched) return false;
    for (const key of this.touched) {
      if (member(state, key) === member(before, key)) continue;
      if (key !== 'activeTurn' || !this.movedTurn(before[key], state[key])) return false;
    }
    this.before = state;
    if (!this.changed.size && !this.removed.length) {
      this.result = state;
      return true;
    }
    const result = {...state, ...Object.fromEntries(this.changed)};
    for (const key of this.removed) delete result[key];
    this.result = result;
    return true;
  }

  /** Take over the text that a running turn gained; false if an action depends on it. */
  private movedTurn(before: J, after: J): boolean {
    if (!onlyGrew(before, after)) return false;
    const shown = this.changed.get('activeTurn');
    // Left as it was, and so it will be; or ended, and its text with it.
    if (shown == null) return !this.removed.includes('activeTurn');
    const parts = [...shown.responseParts];
    for (const [index, old] of before.responseParts.entries()) {
      const now = after.responseParts[index];
      if (old === now) continue;
      // Only what the actions left alone has become what it became for the host.
      if (parts[index] !== old) return false;
      parts[index] = now;
    }
    const moved = {...shown, responseParts: parts};
    if (before.usage !== after.usage) {
      if (shown.usage !== before.usage) return false;
      moved.usage = after.usage;
    }
    this.changed.set('activeTurn', moved);
    return true;
  }
}

/** Whether two forms of a turn differ in nothing but their text and what they used. */
function onlyGrew(before: J, after: J): boolean {
  if (!isObject(before) || !isObject(after) || !sameKeys(before, after)) return false;
  return Object.keys(before).every(key =>
    before[key] === after[key] || key === 'usage' || (key === 'responseParts' && sameParts(before[key], after[key])));
}

function sameParts(before: readonly J[], after: readonly J[]): boolean {
  return before.length === after.length && before.every((old, index) => {
    const now = after[index];
    if (old === now) return true;
    if (!TEXTS.has(old.kind) || !sameKeys(old, now)) return false;
    return Object.keys(old).every(key => key === 'content' || now[key] === old[key]);
  });
}

const isObject = (value: J): boolean => typeof value === 'object' && value !== null;

function sameKeys(one: J, other: J): boolean {
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length && keys.every(key => Object.hasOwn(other, key));
}
