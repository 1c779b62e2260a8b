/** What the palette finds: sessions, their chats, and commands. */
import uFuzzy from '@leeoniya/ufuzzy';
import type {SessionSummary} from '../ahp/index.ts';
import {go} from '../route.ts';
import {projectOf} from '../sessions/list_model.ts';
import type {Command} from '../ui/commands.ts';
import {visible} from '../ui/safe.tsx';
import {words} from '../words/index.ts';

export interface PaletteItem {
  readonly id: string;
  readonly group: string;
  readonly words: string;
  /** More about it, quieter. */
  readonly about: string;
  readonly keys?: string | undefined;
  readonly run: () => void;
}

/** Items of one group that are shown at most. */
const MOST = 8;
/** Characters of a title that are searched. */
const TITLE = 200;

const titleOf = (title: string): string => visible(title).slice(0, TITLE) || words.shell.untitled;

/** Every item there is, the sessions that changed last first. */
export function paletteItems(sessions: readonly SessionSummary[], commands: readonly Command[]): PaletteItem[] {
  const newest = sessions.toSorted((one, other) => other.modifiedAt.localeCompare(one.modifiedAt));
  return [
    ...newest.map(session => ({
      id: session.resource,
      group: words.shell.palette.sessions,
      words: titleOf(session.title),
      about: visible(projectOf(session).name || session.provider),
      run: () => go({at: 'session', session: session.resource}),
    })),
    ...newest.flatMap(chatItems),
    ...commands.filter(each => each.id !== 'palette' && (each.when?.() ?? true)).map(each => ({
      id: each.id,
      group: words.shell.palette.commands,
      words: each.words,
      about: '',
      keys: each.keys?.[0],
      run: each.run,
    })),
  ];
}

function chatItems(session: SessionSummary): PaletteItem[] {
  const chats = (session.chats ?? []).filter(chat => chat.resource !== session.defaultChat);
  return chats.map(chat => ({
    id: chat.resource,
    group: words.shell.palette.chats,
    words: titleOf(chat.title),
    about: titleOf(session.title),
    run: () => go({at: 'session', session: session.resource, chat: chat.resource}),
  }));
}

const fuzzy = new uFuzzy({intraIns: Infinity});

/** The items that match, best first within their group; without a question, the first of each group. */
export function found(items: readonly PaletteItem[], question: string): PaletteItem[] {
  const asked = question.trim();
  return grouped(asked ? matching(items, asked) : items);
}

function matching(items: readonly PaletteItem[], asked: string): readonly PaletteItem[] {
  const haystack = items.map(item => `${item.words} ${item.about}`);
  const [indexes, info, order] = fuzzy.search(haystack, asked, 1);
  if (!indexes) return [];
  const best = info && order ? order.map(index => info.idx[index] ?? 0) : indexes;
  return best.flatMap(index => items[index] ?? []);
}

function grouped(items: readonly PaletteItem[]): PaletteItem[] {
  const groups = new Map<string, PaletteItem[]>();
  for (const item of items) groups.set(item.group, [...(groups.get(item.group) ?? []), item]);
  return [...groups.values()].flatMap(group => group.slice(0, MOST));
}
