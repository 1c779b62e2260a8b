/**
 * What programs print, as lines of styled spans.
 *
 * Colours, bold, underline and inverse are kept; `\r`, backspace and erase-line do what a terminal
 * does; everything else (titles, clipboards, links, cursor moves) is dropped and never acted on.
 */

/** How a span looks: classes, and colours that no class has as CSS values. */
export interface Style {
  readonly classes: string;
  readonly color?: string;
  readonly background?: string;
}
/** Text in one style; undefined is the plain one. */
export interface Span {
  readonly text: string;
  readonly style?: Style;
}
export type Line = readonly Span[];

/** Characters of a line that are shown. */
export const LINE_MOST = 4096;

interface Pen {
  fg?: number | string;
  bg?: number | string;
  bold?: boolean;
  dim?: boolean;
  italic?: boolean;
  underline?: boolean;
  inverse?: boolean;
}

const ESC = '\\u001b';
// Strings that a terminal would swallow (OSC, DCS, APC, PM, SOS), ended or cut off.
const STRINGS = new RegExp(`(?:${ESC}[\\]PX^_]|[\\u009d\\u0090\\u009f\\u009e\\u0098])[^\\u0007\\u001b\\u009c]*(?:\\u0007|${ESC}\\\\|\\u009c)?`, 'g');
const SEQUENCE = new RegExp(`(?:${ESC}\\[|\\u009b)([0-?]*)[ -/]*([@-~])|${ESC}[ -/]*[0-~]?|[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f]`, 'g');
const HAS_CONTROL = /[^\t\n\u0020-\u007e\u00a0-\uffff]/;

/** The lines of a text; a line feed at its end begins no further one. */
export function ansiLines(text: string): Line[] {
  const clean = HAS_CONTROL.test(text) ? text.replaceAll('\r\n', '\n').replace(STRINGS, '') : text;
  const lines = clean.split('\n');
  if (lines.at(-1) === '') lines.pop();
  const pen: Pen = {};
  return lines.map(line => (HAS_CONTROL.test(line) || isStyled(pen) ? styledLine(line, pen) : plainLine(line)));
}

/** The text without any of the control sequences. */
export const stripped = (text: string): string => ansiLines(text).map(line => line.map(span => span.text).join('')).join('\n');

const plainLine = (line: string): Line => (line ? [{text: line.slice(0, LINE_MOST)}] : []);
const isStyled = (pen: Pen): boolean => Object.keys(pen).length > 0;

/** A line of cells that can be written over. */
class Cells {
  private chars: string[] = [];
  private styles: (Style | undefined)[] = [];
  private column = 0;

  write(text: string, style: Style | undefined): void {
    for (const char of text) {
      if (this.column >= LINE_MOST) return;
      // A hole would be joined as nothing.
      while (this.chars.length < this.column) this.chars.push(' ');
      this.chars[this.column] = char;
      this.styles[this.column] = style;
      this.column++;
    }
  }

  return(): void {
    this.column = 0;
  }

  back(): void {
    this.column = Math.max(0, this.column - 1);
  }

  erase(mode: string): void {
    if (mode === '2') this.chars.fill(' ');
    else if (mode === '1') this.chars.fill(' ', 0, this.column + 1);
    else this.chars.length = Math.min(this.chars.length, this.column);
    if (mode === '2') this.chars.length = 0;
  }

  spans(): Span[] {
    const spans: Span[] = [];
    let from = 0;
    for (let at = 1; at <= this.chars.length; at++) {
      if (at < this.chars.length && this.styles[at] === this.styles[from]) continue;
      const style = this.styles[from];
      const text = this.chars.slice(from, at).join('');
      spans.push(style ? {text, style} : {text});
      from = at;
    }
    return spans;
  }
}

function styledLine(line: string, pen: Pen): Line {
  const cells = new Cells();
  let at = 0;
  let style = styleOf(pen);
  for (const match of line.matchAll(SEQUENCE)) {
    if (match.index > at) cells.write(line.slice(at, match.index), style);
    at = match.index + match[0].length;
    if (match[0] === '\r') cells.return();
    else if (match[0] === '\b') cells.back();
    else if (match[2] === 'K') cells.erase(match[1] ?? '');
    else if (match[2] === 'm') {
      applyCodes(pen, match[1] ?? '');
      style = styleOf(pen);
    }
  }
  if (at < line.length) cells.write(line.slice(at), style);
  return cells.spans();
}

// Codes that switch one thing, and what they switch it to; undefined is off.
const SWITCHES: Record<number, Partial<Record<keyof Pen, true | undefined>>> = {
  1: {bold: true}, 2: {dim: true}, 3: {italic: true}, 4: {underline: true}, 7: {inverse: true},
  22: {bold: undefined, dim: undefined}, 23: {italic: undefined}, 24: {underline: undefined}, 27: {inverse: undefined},
  39: {fg: undefined}, 49: {bg: undefined},
};

function applyCodes(pen: Pen, codes: string): void {
  const numbers = codes.split(/[;:]/).slice(0, 32).map(Number);
  for (let at = 0; at < numbers.length; at++) {
    const code = numbers[at] ?? 0;
    if (code === 0) for (const key of Object.keys(pen)) delete pen[key as keyof Pen];
    else if (code === 38 || code === 48) at += extended(pen, code === 38 ? 'fg' : 'bg', numbers.slice(at + 1));
    else if (code >= 30 && code <= 37) pen.fg = code - 30;
    else if (code >= 90 && code <= 97) pen.fg = code - 82;
    else if (code >= 40 && code <= 47) pen.bg = code - 40;
    else if (code >= 100 && code <= 107) pen.bg = code - 92;
    else if (Object.hasOwn(SWITCHES, code)) switchPen(pen, SWITCHES[code] ?? {});
  }
}

function switchPen(pen: Pen, change: Partial<Record<keyof Pen, true | undefined>>): void {
  for (const key of Object.keys(change) as (keyof Pen)[]) {
    if (change[key] === undefined) delete pen[key];
    else (pen as Record<string, unknown>)[key] = true;
  }
}

/** A colour of 256 or of 16 million; how many numbers it took. */
function extended(pen: Pen, ground: 'fg' | 'bg', numbers: readonly number[]): number {
  if (numbers[0] === 5) {
    const index = numbers[1] ?? 0;
    pen[ground] = index < 16 ? index : rgbOf(index);
    return 2;
  }
  if (numbers[0] === 2) {
    pen[ground] = rgb(numbers[1], numbers[2], numbers[3]);
    return 4;
  }
  return 0;
}

const step = (value: number): number => (value === 0 ? 0 : 55 + 40 * value);

function rgbOf(index: number): string {
  if (index >= 232) return rgb(8 + 10 * (index - 232), 8 + 10 * (index - 232), 8 + 10 * (index - 232));
  const cube = index - 16;
  return rgb(step(Math.floor(cube / 36)), step(Math.floor(cube / 6) % 6), step(cube % 6));
}

const byte = (value: number | undefined): number => Math.min(255, Math.max(0, Math.trunc(value ?? 0) || 0));
const rgb = (red?: number, green?: number, blue?: number): string => `rgb(${byte(red)} ${byte(green)} ${byte(blue)})`;

const styles = new Map<string, Style>();

function styleOf(pen: Pen): Style | undefined {
  if (!isStyled(pen)) return undefined;
  const [fg, bg] = pen.inverse ? [pen.bg ?? 'back', pen.fg ?? 'front'] : [pen.fg, pen.bg];
  const key = JSON.stringify([fg, bg, pen.bold, pen.dim, pen.italic, pen.underline]);
  const known = styles.get(key);
  if (known) return known;
  const classes = [
    pen.bold && 'ansi-bold', pen.dim && 'ansi-dim', pen.italic && 'ansi-italic', pen.underline && 'ansi-underline',
    isNamed(fg) && `ansi-fg-${fg}`, isNamed(bg) && `ansi-bg-${bg}`,
  ].filter(Boolean);
  const style: Style = {
    classes: classes.join(' '),
    ...(typeof fg === 'string' && !isNamed(fg) ? {color: fg} : {}),
    ...(typeof bg === 'string' && !isNamed(bg) ? {background: bg} : {}),
  };
  // Every colour of a picture would be kept otherwise.
  if (styles.size > 2000) styles.clear();
  styles.set(key, style);
  return style;
}

const isNamed = (colour: number | string | undefined): boolean => typeof colour === 'number' || colour === 'front' || colour === 'back';
