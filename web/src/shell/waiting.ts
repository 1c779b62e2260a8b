/** The things that wait: what they are called, where they are, and which is next. */
import type {SessionInputRequest, StringOrMarkdown} from '../ahp/index.ts';
import {type SessionRoute, go, route} from '../route.ts';
import type {Store, Waiting} from '../store/index.ts';

/** Frames for which a card is looked for after going to its chat; about three seconds. */
const PATIENCE = 180;
/** Characters of a title. */
const MOST = 120;

const plain = (text: StringOrMarkdown | undefined): string => String((typeof text === 'string' ? text : text?.markdown) ?? '');

/** What somebody is asked for, in one line; nothing for a kind that this page does not know. */
export function waitingTitle({request}: Waiting): string {
  const said = request.kind === 'chatInput' ? plain(request.request?.message) : plain(request.toolCall?.invocationMessage) || plain(request.toolCall?.displayName);
  return said.split('\n', 1)[0]?.slice(0, MOST) ?? '';
}

/** The name under which a card can be found in its chat. */
export function cardName(request: SessionInputRequest): string {
  return (request.kind === 'chatInput' ? request.request?.id : request.toolCall?.toolCallId) ?? request.id;
}

/** The one after the card that has the focus, or of the chat that is open; else the one that waits longest. */
export function nextWaiting(waiting: readonly Waiting[], focused: string | undefined, chat: string | undefined): Waiting | undefined {
  const ordered = waiting.toSorted((one, other) => one.since - other.since);
  const at = ordered.findIndex(each => cardName(each.request) === focused);
  if (at >= 0) return ordered[(at + 1) % ordered.length];
  return ordered.find(each => each.chat === chat) ?? ordered[0];
}

/** Go to the next thing that waits, and put the focus on it; answering stays with its buttons. */
export function goToNextWaiting(store: Store): void {
  const focused = document.activeElement?.closest<HTMLElement>('[data-waiting]')?.dataset['waiting'];
  const at = route.peek();
  const next = nextWaiting(store.waiting.peek(), focused, at.at === 'session' ? chatHere(store, at) : undefined);
  if (!next) return;
  const to: SessionRoute = {at: 'session', session: next.session, chat: isDefault(store, next) ? undefined : next.chat};
  if (at.at !== 'session' || at.session !== to.session || at.chat !== to.chat) go(to);
  focusCard(cardName(next.request), PATIENCE);
}

const defaultChat = (store: Store, session: string): string | undefined => store.sessions.peek().find(each => each.resource === session)?.defaultChat;
const chatHere = (store: Store, at: SessionRoute): string | undefined => at.chat ?? defaultChat(store, at.session);
const isDefault = (store: Store, waiting: Waiting): boolean => defaultChat(store, waiting.session) === waiting.chat;

function focusCard(name: string, frames: number): void {
  const card = document.querySelector<HTMLElement>(`[data-waiting="${CSS.escape(name)}"]`);
  if (card) {
    card.focus();
    card.scrollIntoView({block: 'nearest'});
  } else if (frames > 0) {
    requestAnimationFrame(() => focusCard(name, frames - 1));
  }
}
