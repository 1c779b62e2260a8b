/** Text that hides nothing. */

// Controls but tab and newline, bidi marks and overrides, zero-width and other characters without ink.
// oxlint-disable-next-line no-control-regex, no-misleading-character-class
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\u{e0000}-\u{e0fff}]/gu;

const JOINER = '\u200d';

/** Whether the joiner here makes one picture of two, as in families and flags. */
const joinsPictures = (text: string, at: number): boolean =>
  /\p{Extended_Pictographic}(?:\ufe0f|\p{Emoji_Modifier})?$/u.test(text.slice(Math.max(0, at - 5), at)) && /^\p{Extended_Pictographic}/u.test(text.slice(at + 1, at + 3));

/** Text with every character spelled out that would not be seen, or that would turn others around. */
export function visible(text: string): string {
  // A host may send anything where text belongs; a title that is none costs no more than itself.
  return (typeof text === 'string' ? text : String(text ?? '')).replace(HIDDEN, (sign, at: number) => (sign === JOINER && joinsPictures(text, at) ? sign : `⟨U+${sign.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}⟩`));
}
