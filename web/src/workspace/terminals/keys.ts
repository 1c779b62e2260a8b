/** What keys send to a terminal, for those who have none on their keyboard (pure). */

export type KeyName = 'esc' | 'tab' | 'up' | 'down' | 'left' | 'right' | 'interrupt';

const ARROWS: Readonly<Record<string, string>> = {up: 'A', down: 'B', right: 'C', left: 'D'};
const PLAIN: Readonly<Record<string, string>> = {esc: '\u001B', tab: '\t', interrupt: '\u0003'};

/** What a key of the row sends; arrows depend on the mode that the program has set. */
export function keySequence(key: KeyName, o: {application: boolean; ctrl: boolean}): string {
  const arrow = ARROWS[key];
  if (arrow === undefined) return PLAIN[key]!;
  if (o.ctrl) return `\u001B[1;5${arrow}`;
  return `\u001B${o.application ? 'O' : '['}${arrow}`;
}

/** What is typed while Ctrl is held: letters and some signs become control characters, the rest stays. */
export function withCtrl(typed: string): string {
  if (typed.length !== 1) return typed;
  if (typed === ' ') return '\0';
  if (typed === '?') return '\u007F';
  const code = typed.toUpperCase().charCodeAt(0);
  return code >= 64 && code <= 95 ? String.fromCharCode(code - 64) : typed;
}

// Characters that go to the host as one action; it takes 64 KiB, and one may need four bytes.
const AT_ONCE = 16_000;

/** A text of any length in pieces that a host takes; no character is cut in two. */
export function pieces(text: string): string[] {
  const found: string[] = [];
  let from = 0;
  while (from < text.length) {
    let to = Math.min(text.length, from + AT_ONCE);
    const last = text.charCodeAt(to - 1);
    if (to < text.length && last >= 0xd800 && last <= 0xdbff) to--;
    found.push(text.slice(from, to));
    from = to;
  }
  return found;
}
