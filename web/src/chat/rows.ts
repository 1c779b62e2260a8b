/**
 * A chat as the rows of its transcript.
 *
 * Rows are parts, not turns, and long texts are several rows, so that only what is in view is built.
 * A row that has not changed is the same object as before: its view is then not drawn again.
 */
import type {ActiveTurn, ChatState, MarkdownResponsePart, Message, ResponsePart, ToolCallState, Turn} from '../ahp/index.ts';
import {ACTIVITY_MASK, INPUT_NEEDED} from '../ahp/status.ts';
import {BLOCK_MOST} from '../markdown/lex.ts';
import {StreamedMarkdown} from '../markdown/stream.ts';

/** What every row has: a key that stays with it, and its turn. */
interface RowBase {
  readonly key: string;
  readonly turn: string;
}
/** The beginning of what is loaded, with older turns behind it. */
export interface OlderRow extends RowBase {
  readonly kind: 'older';
}
/** What was said to the agent. */
export interface MessageRow extends RowBase {
  readonly kind: 'message';
  readonly message: Message;
  readonly startedAt: string | undefined;
}
/** A section of a text of the agent's. */
export interface TextRow extends RowBase {
  readonly kind: 'text';
  readonly part: MarkdownResponsePart;
  readonly index: number;
  /** Lexed already if it grows or is long; else its view does it. */
  readonly stream: StreamedMarkdown | undefined;
  readonly section: number;
  readonly isLast: boolean;
  readonly running: boolean;
  /** Of the stream, when the row was made: the stream itself changes. */
  readonly version: number;
}
/** Any other part: a tool call, reasoning, questions, a notice, an error. */
export interface PartRow extends RowBase {
  readonly kind: 'part';
  readonly part: ResponsePart;
  readonly index: number;
  /** Whether it is what the agent is at. */
  readonly running: boolean;
  /** Whether it belongs to opened, folded calls. */
  readonly isInside: boolean;
}
/** Calls in a row that went well, folded into one line. */
export interface CallsRow extends RowBase {
  readonly kind: 'calls';
  readonly counts: CallCounts;
  readonly isOpen: boolean;
}
/** The end of a turn: what it took, and what can be done from there. */
export interface EndRow extends RowBase {
  readonly kind: 'end';
  readonly of: Turn;
  /** The turn before it, up to which the chat is kept if this one is edited. */
  readonly before: string | undefined;
  readonly isNewest: boolean;
}
/** The agent is at work. */
export interface WorkingRow extends RowBase {
  readonly kind: 'working';
  readonly startedAt: string;
  readonly activity: string | undefined;
  /** Whether it waits for somebody. */
  readonly isWaiting: boolean;
}
export type Row = OlderRow | MessageRow | TextRow | PartRow | CallsRow | EndRow | WorkingRow;

/** How many calls of each kind are folded. */
export interface CallCounts {
  readonly read: number;
  readonly search: number;
  readonly terminal: number;
  readonly other: number;
}

interface Made {
  readonly turn: Turn | ActiveTurn;
  readonly before: string | undefined;
  readonly isNewest: boolean;
  /** Which of its folds were open. */
  readonly opened: string;
  readonly folds: readonly string[];
  readonly rows: readonly Row[];
}

/** Makes the rows of one chat, again and again, and keeps those that stay. */
export class RowMaker {
  private made = new Map<string, Made>();
  private readonly streams = new Map<string, StreamedMarkdown>();
  private readonly texts = new Map<string, TextRow[]>();
  private all: readonly Row[] = [];

  /** The rows of the chat as it is; `open` has the keys of folds that are open. */
  rows(chat: ChatState, o: {open: ReadonlySet<string>}): readonly Row[] {
    const rows: Row[] = [];
    const kept = new Map<string, Made>();
    const older = chat.turnsNextCursor == null ? undefined : chat.turns[0]?.id ?? '';
    if (older !== undefined) rows.push(OLDER);
    let before: string | undefined;
    chat.turns.forEach((turn, at) => {
      const isNewest = at === chat.turns.length - 1 && !chat.activeTurn;
      const made = this.turnRows(turn, {before, isNewest, open: o.open});
      kept.set(turn.id, made);
      for (const row of made.rows) rows.push(row);
      before = turn.id;
    });
    if (chat.activeTurn) {
      const made = this.turnRows(chat.activeTurn, {before, isNewest: true, open: o.open});
      kept.set(chat.activeTurn.id, made);
      rows.push(...made.rows, this.working(chat, chat.activeTurn));
    }
    this.made = kept;
    this.all = sameRows(this.all, rows) ? this.all : rows;
    return this.all;
  }

  private working(chat: ChatState, turn: ActiveTurn): WorkingRow {
    const last = this.all.at(-1);
    const activity = chat.activity || undefined;
    const isWaiting = (chat.status & ACTIVITY_MASK) === INPUT_NEEDED;
    if (last?.kind === 'working' && last.turn === turn.id && last.activity === activity && last.isWaiting === isWaiting) return last;
    return {kind: 'working', key: `${turn.id}/working`, turn: turn.id, startedAt: turn.startedAt, activity, isWaiting};
  }

  private turnRows(turn: Turn | ActiveTurn, o: {before: string | undefined; isNewest: boolean; open: ReadonlySet<string>}): Made {
    const known = this.made.get(turn.id);
    if (known?.turn === turn && known.isNewest === o.isNewest && known.before === o.before && known.opened === openOf(known.folds, o.open)) return known;
    const old: Old = new Map(known?.rows.map(row => [row.key, row]));
    const rows: Row[] = [keep(old, {kind: 'message', key: `${turn.id}/message`, turn: turn.id, message: turn.message, startedAt: turn.startedAt})];
    const folds: string[] = [];
    const add = this.partAdder(rows, old, turn);
    for (const {from, until} of groupsOf(turn.responseParts)) {
      const isFold = until - from > 1;
      if (isFold) {
        const key = foldKey(turn, from);
        const isOpen = o.open.has(key);
        folds.push(key);
        rows.push(keep(old, {kind: 'calls', key, turn: turn.id, counts: countsOf(turn.responseParts.slice(from, until)), isOpen}));
        if (!isOpen) continue;
      }
      for (let index = from; index < until; index++) add(index, isFold);
    }
    if ('state' in turn) rows.push(keep(old, {kind: 'end', key: `${turn.id}/end`, turn: turn.id, of: turn, before: o.before, isNewest: o.isNewest}));
    return {turn, before: o.before, isNewest: o.isNewest, folds, opened: openOf(folds, o.open), rows};
  }

  private partAdder(rows: Row[], old: Old, turn: Turn | ActiveTurn): (index: number, isInside: boolean) => void {
    const keys = new Set<string>();
    const last = 'state' in turn ? -1 : turn.responseParts.length - 1;
    return (index, isInside) => {
      const part = turn.responseParts[index];
      if (part == null) return;
      let key = `${turn.id}/${partKey(part, index)}`;
      // Two rows with one key would be mixed up.
      if (keys.has(key)) key += `~${index}`;
      keys.add(key);
      const running = index === last;
      if (part.kind === 'markdown' && typeof part.content === 'string') rows.push(...this.textRows(key, turn.id, part, index, running));
      else rows.push(keep(old, {kind: 'part', key, turn: turn.id, part, index, running, isInside}));
    };
  }

  private textRows(key: string, turn: string, part: MarkdownResponsePart, index: number, running: boolean): TextRow[] {
    const stream = this.streamOf(key, part.content, running);
    const before = this.texts.get(key) ?? [];
    const count = Math.max(1, stream?.sections.length ?? 1);
    const rows = Array.from({length: count}, (_, section): TextRow => {
      const isLast = section === count - 1;
      // Sections but the last are over: they change with the epoch only.
      const version = stream ? (isLast ? stream.version : -stream.epoch) : 0;
      const old = before[section];
      const isSame = old && old.version === version && old.isLast === isLast && old.stream === stream && (stream ? !isLast || old.running === running : old.part === part && old.running === running);
      if (isSame) return old;
      return {kind: 'text', key: section ? `${key}#${section}` : key, turn, part, index, stream, section, isLast, running: running && isLast, version};
    });
    this.texts.set(key, rows);
    return rows;
  }

  private streamOf(key: string, text: string, running: boolean): StreamedMarkdown | undefined {
    let stream = this.streams.get(key);
    if (!stream) {
      if (!running && text.length <= BLOCK_MOST) return undefined;
      stream = running ? new StreamedMarkdown() : StreamedMarkdown.of(text);
      this.streams.set(key, stream);
    }
    stream.show(text);
    if (!running) stream.finish();
    return stream;
  }
}

/** The rows of a chat, made from nothing. */
export const rows = (chat: ChatState, o: {open: ReadonlySet<string>} = {open: new Set()}): readonly Row[] => new RowMaker().rows(chat, o);

type Old = ReadonlyMap<string, Row>;

const OLDER: OlderRow = {kind: 'older', key: 'older', turn: ''};

const openOf = (folds: readonly string[], open: ReadonlySet<string>): string => folds.filter(key => open.has(key)).join('\n');

/** The row there was, if nothing about it changed. */
function keep<R extends Row>(old: Old, row: R): R {
  const same = old.get(row.key);
  return same && isEqual(same, row) ? (same as R) : row;
}

function isEqual(one: Row, other: Row): boolean {
  const [a, b] = [one as unknown as Record<string, unknown>, other as unknown as Record<string, unknown>];
  return Object.keys(b).every(name => a[name] === b[name] || (name === 'counts' && JSON.stringify(a[name]) === JSON.stringify(b[name])));
}

const sameRows = (one: readonly Row[], other: readonly Row[]): boolean => one.length === other.length && one.every((row, at) => row === other[at]);

// Hosts may send anything: what is not there is left to the row's own view, which says so and breaks alone.
function partKey(part: ResponsePart | undefined, index: number): string {
  if (part?.kind === 'toolCall') return part.toolCall?.toolCallId ?? String(index);
  if (part?.kind === 'inputRequest') return part.request?.id ?? String(index);
  return part && 'id' in part && typeof part.id === 'string' ? part.id : String(index);
}

const foldKey = (turn: Turn | ActiveTurn, from: number): string => `${turn.id}/fold/${partKey(turn.responseParts[from], from)}`;

/** The key of the row of a part, or of its first row. */
export const rowKey = (turn: Turn | ActiveTurn, index: number): string => `${turn.id}/${partKey(turn.responseParts[index], index)}`;

/** The key of the fold that a part is in, if it is in one. */
export function foldOf(turn: Turn | ActiveTurn, index: number): string | undefined {
  const group = groupsOf(turn.responseParts).find(each => index >= each.from && index < each.until);
  return group && group.until - group.from > 1 ? foldKey(turn, group.from) : undefined;
}

/** The parts in groups: calls that fold together, and all others alone. */
function groupsOf(parts: readonly ResponsePart[]): {from: number; until: number}[] {
  const groups: {from: number; until: number}[] = [];
  for (let from = 0; from < parts.length; ) {
    let until = from;
    while (until < parts.length && isQuiet(parts[until])) until++;
    until = Math.max(until, from + 1);
    groups.push({from, until});
    from = until;
  }
  return groups;
}

/** Whether a part is a call that went well and that nobody needs to look at. */
function isQuiet(part: ResponsePart | undefined): boolean {
  if (part?.kind !== 'toolCall') return false;
  const call = part.toolCall;
  return call?.status === 'completed' && call.success && !(call.content ?? []).some(content => content.type === 'fileEdit' || content.type === 'subagent');
}

/** What a tool is for, as its agent says. */
export function toolKind(call: ToolCallState): string | undefined {
  const kind = call._meta?.['toolKind'];
  return typeof kind === 'string' ? kind : undefined;
}

function countsOf(parts: readonly ResponsePart[]): CallCounts {
  const counts = {read: 0, search: 0, terminal: 0, other: 0};
  for (const part of parts) {
    const kind = part.kind === 'toolCall' ? toolKind(part.toolCall) : undefined;
    if (kind === 'read' || kind === 'search' || kind === 'terminal') counts[kind]++;
    else counts.other++;
  }
  return counts;
}
