/**
 * Markdown that grows: blocks that are over never change, and only what is open is lexed again.
 *
 * A block is over when something other than blank lines follows whose first line is complete: a list
 * goes on behind a blank line. A long open paragraph or fence is not lexed at all until its end, but
 * becomes plain pieces; both keep every step short, whatever the text is.
 */
import type {Links, Token, Tokens} from 'marked';
import remend from 'remend';
import {BLOCK_MOST, type Block, INLINE_MOST, type Plain, blockOf, blocksOf, cutAt, lexed, plainBlock} from './lex.ts';

/** Characters of a finished text up to which it is lexed once more as a whole. */
export const WHOLE_MOST = 65_536;
// Blocks of a section, and about how many elements and characters.
const SECTION_BLOCKS = 24;
const SECTION_WEIGHT = 120;
const SECTION_LENGTH = 16_384;
// A line this long is what it is, though it may go on.
const LONG_LINE = 1024;
// Longer than any line that ends a plain text.
const END_LINE = 128;

const MENDING = {linkMode: 'text-only', katex: false, inlineKatex: false, comparisonOperators: false, singleTilde: false, htmlTags: false} as const;
const INTERRUPTS = /^ {0,3}(?:`{3}|~{3}|#{1,6}(?:\s|$)|>|[-*+] |1[.)] )/;

interface PlainMode {
  plain: Plain;
  /** What ends a fence; undefined for a paragraph. */
  end: RegExp | undefined;
  piece: string;
  /** The beginning of the last line, as long as it may still turn out to be the end. */
  line: string;
  isDecided: boolean;
}

export class StreamedMarkdown {
  /** Blocks that are over. */
  blocks: Block[] = [];
  /** Blocks that may still change, drawn as if the text ended here. */
  open: readonly Block[] = [];
  /** The index of each section's first block; the last section may still grow. */
  sections: number[] = [];
  /** Goes up with every change. */
  version = 0;
  /** Goes up when blocks change that were over: with another text, or at the end. */
  epoch = 0;
  /** What `[name]` stands for, as far as is known. */
  readonly links: Links = Object.create(null) as Links;
  private text = '';
  private plain: PlainMode | undefined;
  private nextId = 0;
  private seen = '';
  private isWhole = false;
  /** The number of the next item, where the beginning of a long list is already over. */
  private goesOnAt: number | undefined;

  /** Show this text: what it was before and more, as a rule. */
  show(text: string): void {
    if (text === this.seen) return;
    if (!text.startsWith(this.seen)) this.restart();
    // A carriage return at the end may be half of a line's end.
    const until = text.endsWith('\r') ? text.length - 1 : text.length;
    const more = text.slice(this.seen.length, until).replaceAll(/\r\n?/g, '\n');
    this.seen = text.slice(0, until);
    for (let at = 0; at < more.length; at += BLOCK_MOST) this.append(more.slice(at, at + BLOCK_MOST));
  }

  /** Take note that the text is complete. If it is not long it is lexed as a whole, and what differs is replaced. */
  finish(): void {
    if (this.isWhole) return;
    this.isWhole = true;
    const text = this.seen.replaceAll(/\r\n?/g, '\n');
    const tokens = text.length <= WHOLE_MOST ? lexed(text) : undefined;
    if (tokens) this.replace(tokens);
    else this.closeAll(text);
    this.version++;
    this.epoch++;
  }

  /** Take a text that is complete. */
  static of(text: string): StreamedMarkdown {
    const stream = new StreamedMarkdown();
    if (text.length <= WHOLE_MOST) stream.seen = text;
    else stream.show(text);
    stream.finish();
    return stream;
  }

  /** The closed blocks of a section. */
  section(index: number): readonly Block[] {
    return this.blocks.slice(this.sections[index], this.sections[index + 1]);
  }

  /** All text of the plain blocks of a group. */
  groupText(group: number): string {
    return [...this.blocks, ...this.open].filter(block => block.plain?.group === group).map(block => block.raw).join('');
  }

  private readonly id = (): number => this.nextId++;

  private restart(): void {
    this.blocks = [];
    this.open = [];
    this.sections = [];
    this.text = '';
    this.seen = '';
    this.plain = undefined;
    this.isWhole = false;
    this.goesOnAt = undefined;
    this.version++;
    this.epoch++;
  }

  private append(text: string): void {
    this.version++;
    this.isWhole = false;
    let rest = text;
    // Each round ends a plain text or takes all there is.
    while (rest) rest = this.plain ? this.growPlain(this.plain, rest) : this.grow(rest);
  }

  /** Lex what is open; gives back what a plain text is to take. */
  private grow(text: string): string {
    this.text += text;
    const tokens = lexed(this.text);
    if (!tokens) return this.startPlain(undefined);
    this.goOn(tokens);
    const over = countOver(tokens);
    if (over > 0) this.goesOnAt = undefined;
    for (const token of tokens.slice(0, over)) this.close(token);
    const rest = tokens.slice(over);
    const first = rest[0];
    if (first && this.text.length > INLINE_MOST && isLong(first)) {
      if (this.text.length <= BLOCK_MOST || !this.split(first)) return this.startPlain(first);
      return this.grow('');
    }
    this.open = this.shown(rest);
    return '';
  }

  /** Close the items or rows of a long list or table that are over; whether there are any. */
  private split(token: Token): boolean {
    if (token.type === 'list') {
      const list = token as Tokens.List;
      const last = list.items.at(-1);
      if (list.items.length < 2 || !last) return false;
      const items = list.items.slice(0, -1);
      this.close({...list, items, raw: items.map(item => item.raw).join('')});
      if (typeof list.start === 'number') this.goesOnAt = list.start + items.length;
      return true;
    }
    if (token.type === 'table') {
      const table = token as Tokens.Table;
      const end = token.raw.lastIndexOf('\n', token.raw.length - 2) + 1;
      if (table.rows.length < 2 || end <= 0) return false;
      const head = `${table.raw.split('\n', 2).join('\n')}\n`;
      this.close({...table, rows: table.rows.slice(0, -1), raw: table.raw.slice(0, end)});
      this.text = head + this.text;
      return true;
    }
    return false;
  }

  /** Let the rest of a list count on from what is over. */
  private goOn(tokens: Token[]): void {
    const list = tokens[0];
    if (this.goesOnAt !== undefined && list?.type === 'list') tokens[0] = {...(list as Tokens.List), start: this.goesOnAt};
  }

  private close(token: Token): void {
    this.text = this.text.slice(token.raw.length);
    if (token.type === 'def') this.define(token as Tokens.Def);
    for (const block of blocksOf(token, this.id)) this.push(block);
  }

  private define(def: Tokens.Def): void {
    this.links[def.tag] ??= {href: def.href, title: def.title};
  }

  private push(block: Block): void {
    const start = this.sections.at(-1);
    const section = start === undefined ? [] : this.blocks.slice(start);
    const weight = section.reduce((sum, each) => sum + each.weight, block.weight);
    const length = section.reduce((sum, each) => sum + each.raw.length, 0);
    const isFull = section.length >= SECTION_BLOCKS || weight > SECTION_WEIGHT || length >= SECTION_LENGTH;
    if (start === undefined || (isFull && section.length > 0)) this.sections.push(this.blocks.length);
    this.blocks.push(block);
  }

  /** Open tokens as blocks, the last one with its half-typed marks completed. */
  private shown(tokens: readonly Token[]): Block[] {
    const last = tokens.at(-1);
    const mended = last && last.type !== 'code' && last.raw.length <= INLINE_MOST ? remended(last.raw) : undefined;
    const shown = mended === undefined ? tokens : [...tokens.slice(0, -1), ...(lexed(mended) ?? [])];
    return shown.filter(token => token.type !== 'space' && token.type !== 'def').map((token, index) => blockOf(token, this.nextId + index));
  }

  // Long paragraphs and fences, piece by piece.

  private startPlain(token: Token | undefined): string {
    let text = this.text;
    this.text = '';
    const group = this.nextId;
    let plain: Plain = {group, as: 'text', isFirst: true};
    let end: RegExp | undefined;
    const fence = token?.type === 'code' ? /^ {0,3}(`{3,}|~{3,})([^\n]*)\n/.exec(text) : null;
    if (fence?.[1]) {
      end = new RegExp(`^ {0,3}${fence[1][0]}{${fence[1].length},}[ \\t]*$`);
      const lang = fence[2]?.trim();
      plain = {...plain, as: 'code', ...(lang ? {lang} : {})};
      text = text.slice(fence[0].length);
    }
    // The first line does not end what it begins, whatever it looks like.
    this.plain = {plain, end, piece: '', line: '', isDecided: !end};
    return text;
  }

  /** Add to the plain text; gives back what lies behind its end. */
  private growPlain(mode: PlainMode, text: string): string {
    let at = 0;
    while (at < text.length) {
      const newline = text.indexOf('\n', at);
      const until = newline < 0 ? text.length : newline + 1;
      mode.line += text.slice(at, until);
      at = until;
      if (!mode.isDecided && newline >= 0 && ends(mode)) {
        const isFollowing = !mode.end && mode.line.trim() !== '';
        const rest = (isFollowing ? mode.line : '') + text.slice(at);
        this.endPlain(mode);
        return rest;
      }
      mode.isDecided ||= mode.line.length > END_LINE;
      if (mode.isDecided || newline >= 0) this.settleLine(mode);
      if (newline >= 0) mode.isDecided = false;
    }
    this.open = [plainBlock(mode.piece + mode.line, mode.plain, this.nextId)];
    return '';
  }

  private settleLine(mode: PlainMode): void {
    mode.piece += mode.line;
    mode.line = '';
    while (mode.piece.length > INLINE_MOST) {
      const end = cutAt(mode.piece, mode.plain.as);
      this.push(plainBlock(mode.piece.slice(0, end), mode.plain, this.id()));
      mode.piece = mode.piece.slice(end);
      mode.plain = {...mode.plain, isFirst: false};
    }
  }

  private endPlain(mode: PlainMode): void {
    if (mode.piece) this.push(plainBlock(mode.piece, mode.plain, this.id()));
    this.plain = undefined;
    this.open = [];
  }

  // The end.

  private closeAll(text: string): void {
    // Nothing was shown yet of a text that was complete at once, but cannot be lexed as a whole.
    if (!this.blocks.length && !this.open.length) this.append(text);
    for (const block of this.open) {
      this.nextId = Math.max(this.nextId, block.id + 1);
      this.push(block);
    }
    this.open = [];
    this.text = '';
    this.plain = undefined;
  }

  private replace(tokens: readonly Token[]): void {
    for (const token of tokens) if (token.type === 'def') this.define(token as Tokens.Def);
    const fresh = tokens.flatMap(token => blocksOf(token, this.id));
    const shown = [...this.blocks, ...this.open];
    let same = 0;
    while (same < fresh.length && same < shown.length && isSame(shown[same], fresh[same])) same++;
    this.nextId = Math.max(this.nextId, ...this.open.map(block => block.id + 1));
    this.blocks = [];
    this.sections = [];
    for (const block of [...shown.slice(0, same), ...fresh.slice(same)]) this.push(block);
    this.open = [];
    this.text = '';
    this.plain = undefined;
  }
}

/** How many of the tokens are over: those before the last that is not blank and has its first line. */
function countOver(tokens: readonly Token[]): number {
  let at = tokens.length - 1;
  const last = tokens[at];
  if (last && !last.raw.includes('\n') && last.raw.length < LONG_LINE) at--;
  while (at > 0 && tokens[at]?.type === 'space') at--;
  return Math.max(at, 0);
}

const isLong = (token: Token): boolean => token.raw.length > (token.type === 'paragraph' || isFence(token) ? INLINE_MOST : BLOCK_MOST);
const isFence = (token: Token): boolean => token.type === 'code' && (token as Tokens.Code).codeBlockStyle !== 'indented';

function ends(mode: PlainMode): boolean {
  const line = mode.line.slice(0, -1);
  return mode.end ? mode.end.test(line) : line.trim() === '' || INTERRUPTS.test(line);
}

function remended(raw: string): string | undefined {
  try {
    const mended = remend(raw, MENDING);
    return mended === raw ? undefined : mended;
  } catch {
    return undefined;
  }
}

function isSame(one: Block | undefined, other: Block | undefined): boolean {
  return one !== undefined && other !== undefined && one.token?.type === other.token?.type && one.plain?.as === other.plain?.as && one.raw.trimEnd() === other.raw.trimEnd();
}
