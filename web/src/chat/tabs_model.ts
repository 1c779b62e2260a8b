/** Which chats of a session are tabs, and where one goes that is moved. */
import type {ChatSummary, SessionState} from '../ahp/index.ts';
import {ACTIVITY_MASK, INPUT_NEEDED, IN_PROGRESS, IS_ARCHIVED, IS_READ} from '../ahp/status.ts';

export interface ChatTab {
  readonly uri: string;
  readonly title: string;
  readonly isMain: boolean;
  readonly isWorker: boolean;
  readonly mark: 'waiting' | 'working' | 'unread' | undefined;
  readonly movable: boolean;
}

export const isWorker = (chat: Pick<ChatSummary, 'origin'>): boolean => chat.origin?.kind === 'tool';

/** The tabs: every chat of people's own, and of the workers those that were opened. */
export function chatTabs(session: SessionState, shown: string, opened: ReadonlySet<string>): ChatTab[] {
  const isTab = (chat: ChatSummary): boolean =>
    chat.resource === shown || opened.has(chat.resource) || (!isWorker(chat) && chat.interactivity !== 'hidden' && (chat.status & IS_ARCHIVED) === 0);
  return session.chats.filter(isTab).map(chat => ({
    uri: chat.resource,
    title: chat.title,
    isMain: chat.resource === session.defaultChat,
    isWorker: isWorker(chat),
    mark: markOf(chat, shown),
    movable: chat.movable === true,
  }));
}

function markOf(chat: ChatSummary, shown: string): ChatTab['mark'] {
  const activity = chat.status & ACTIVITY_MASK;
  if (activity === INPUT_NEEDED) return 'waiting';
  if (activity === IN_PROGRESS) return 'working';
  return chat.resource !== shown && (chat.status & IS_READ) === 0 && !isWorker(chat) ? 'unread' : undefined;
}

/** The tab behind which a tab stands after it was moved by steps; undefined if it cannot go there, null at the front. */
export function placeAfter(tabs: readonly ChatTab[], uri: string, steps: -1 | 1): string | null | undefined {
  const at = tabs.findIndex(tab => tab.uri === uri);
  const others = tabs.filter(tab => tab.uri !== uri);
  const to = at + steps;
  if (at < 0 || to < 0 || to > others.length) return undefined;
  return to === 0 ? null : others[to - 1]?.uri ?? null;
}

/** The tab behind which a tab stands that was dropped on another: on its far side, as seen from where it came. */
export function droppedAfter(tabs: readonly ChatTab[], uri: string, on: string): string | null | undefined {
  const [from, to] = [tabs.findIndex(tab => tab.uri === uri), tabs.findIndex(tab => tab.uri === on)];
  if (from < 0 || to < 0 || from === to) return undefined;
  if (from < to) return on;
  return to === 0 ? null : tabs[to - 1]?.uri ?? null;
}
