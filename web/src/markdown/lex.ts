/**
 * Markdown to blocks, without trusting the text: every cost has a bound, and what does not fit stays plain.
 *
 * Only blocks are lexed here; what is inside a line is lexed when it is shown (`inlineOf`).
 */
import {Lexer, type Links, type Token, type Tokens} from 'marked';

/** Characters of one inline text (paragraph, item, cell) up to which it is formatted without asking: marked needs 30 ms for the worst of them. */
export const INLINE_MOST = 4096;
/** Characters of an open block, of a list or table in one piece, and of code that is coloured. */
export const BLOCK_MOST = 16_384;
// Marks (`>`, `-`, `1.`) at the start of one line: each is a level, and marked recurses.
const MOST_MARKS = 100;
// Items of a list or rows of a table in one piece.
const MOST_ITEMS = 60;

/** A piece of a text too long to format: shown as it is, one of several pieces of a `group`. */
export interface Plain {
  readonly group: number;
  readonly as: 'text' | 'code';
  readonly lang?: string;
  readonly isFirst: boolean;
}

/** A block that never changes. It has a token if it is formatted, else it is plain. */
export interface Block {
  readonly id: number;
  /** The markdown it was made from; of a plain block the text to show. */
  readonly raw: string;
  readonly token?: Token;
  readonly plain?: Plain;
  /** About how many elements it takes. */
  readonly weight: number;
}

/** The block tokens of a text; undefined if it is made to hurt. */
export function lexed(text: string): Token[] | undefined {
  if (isTooDeep(text)) return undefined;
  try {
    return new Lexer().blockTokens(text, []);
  } catch {
    return undefined;
  }
}

function isTooDeep(text: string): boolean {
  for (const [lead] of text.matchAll(/^[ \t>*+\-\d.)]{100,}/gm)) {
    const marks = lead.match(/>|[*+-](?=[ \t])|\d{1,9}[.)](?=[ \t])/g);
    if (marks && marks.length > MOST_MARKS) return true;
  }
  return false;
}

const inlined = new Map<string, Token[]>();
const MOST_INLINED = 400;

/** The inline tokens of a text; undefined if it is too long or made to hurt. The last few hundred are kept: an open list is drawn again and again. */
export function inlineOf(text: string, links: Links): Token[] | undefined {
  if (text.length > INLINE_MOST) return undefined;
  const hasLinks = Object.keys(links).length > 0;
  const known = hasLinks ? undefined : inlined.get(text);
  if (known) return known;
  try {
    const lexer = new Lexer();
    lexer.tokens.links = links;
    const tokens = lexer.inlineTokens(text);
    if (!hasLinks) remember(text, tokens);
    return tokens;
  } catch {
    return undefined;
  }
}

function remember(text: string, tokens: Token[]): void {
  if (inlined.size >= MOST_INLINED) inlined.delete(inlined.keys().next().value ?? '');
  inlined.set(text, tokens);
}

/** The blocks of a token that is complete: none for space, several for what is too long for one. */
export function blocksOf(token: Token, id: () => number): Block[] {
  if (token.type === 'space' || token.type === 'def') return [];
  if (token.type === 'paragraph' && token.raw.length > INLINE_MOST) return piecesOf(token.raw, {as: 'text'}, id);
  if (token.type === 'code' && token.raw.length > BLOCK_MOST) {
    const code = token as Tokens.Code;
    return piecesOf(code.text, {as: 'code', ...(code.lang ? {lang: code.lang} : {})}, id);
  }
  const parts = token.type === 'list' ? listParts(token as Tokens.List) : token.type === 'table' ? tableParts(token as Tokens.Table) : [token];
  return parts.map(part => blockOf(part, id()));
}

/** A block of one token. */
export function blockOf(token: Token, id: number): Block {
  return {id, raw: token.raw, token, weight: weightOf(token)};
}

function weightOf(token: Token): number {
  if (token.type === 'list') return 2 * (token as Tokens.List).items.length;
  if (token.type === 'table') return ((token as Tokens.Table).rows.length + 1) * ((token as Tokens.Table).header.length + 1);
  return token.type === 'code' ? 3 : 2 + Math.ceil(token.raw.length / 80);
}

/** The plain blocks of a long text. */
export function piecesOf(text: string, as: Pick<Plain, 'as' | 'lang'>, id: () => number): Block[] {
  const blocks: Block[] = [];
  let rest = text;
  let group = -1;
  while (rest) {
    const end = rest.length > INLINE_MOST ? cutAt(rest, as.as) : rest.length;
    const own = id();
    if (group < 0) group = own;
    blocks.push(plainBlock(rest.slice(0, end), {...as, group, isFirst: own === group}, own));
    rest = rest.slice(end);
  }
  return blocks;
}

/** A plain block; its text is at most a piece long. */
export const plainBlock = (text: string, plain: Plain, id: number): Block => ({id, raw: text, plain, weight: 30});

/** Where a piece of a long text ends: behind a line, else a word, else anywhere but inside a character. */
export function cutAt(text: string, as: Plain['as']): number {
  const line = text.lastIndexOf('\n', INLINE_MOST - 1) + 1;
  if (line > INLINE_MOST / 2 || (as === 'code' && line > 0)) return line;
  const word = text.lastIndexOf(' ', INLINE_MOST - 1) + 1;
  if (word > INLINE_MOST / 2) return word;
  const code = text.charCodeAt(INLINE_MOST - 1);
  return code >= 0xd800 && code < 0xdc00 ? INLINE_MOST - 1 : INLINE_MOST;
}

/** A list in lists of a bearable size, with the numbers it had. */
function listParts(list: Tokens.List): Tokens.List[] {
  const groups = grouped(list.items, item => item.raw.length, MOST_ITEMS);
  if (groups.length === 1) return [list];
  const first = typeof list.start === 'number' ? list.start : 1;
  let before = 0;
  return groups.map(items => {
    const start = list.ordered ? first + before : list.start;
    before += items.length;
    return {...list, items, start, raw: items.map(item => item.raw).join('')};
  });
}

/** A table in tables of a bearable size, each with the header. */
function tableParts(table: Tokens.Table): Tokens.Table[] {
  const most = Math.max(1, Math.floor((4 * MOST_ITEMS) / Math.max(1, table.header.length)));
  const groups = grouped(table.rows, rowLength, Math.min(MOST_ITEMS, most));
  if (groups.length <= 1) return [table];
  return groups.map(rows => ({...table, rows, raw: `${table.raw.split('\n', 2).join('\n')}\n${rows.map(rowText).join('\n')}`}));
}

const rowLength = (row: readonly Tokens.TableCell[]): number => row.reduce((sum, cell) => sum + cell.text.length + 3, 0);
const rowText = (row: readonly Tokens.TableCell[]): string => `| ${row.map(cell => cell.text).join(' | ')} |`;

function grouped<T>(items: readonly T[], length: (item: T) => number, most: number): T[][] {
  const groups: T[][] = [];
  let size = 0;
  for (const item of items) {
    const own = length(item);
    const last = groups.at(-1);
    if (last && last.length < most && size + own <= BLOCK_MOST) last.push(item);
    else groups.push([item]);
    size = groups.at(-1)?.length === 1 ? own : size + own;
  }
  return groups.length ? groups : [[]];
}
