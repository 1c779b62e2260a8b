/** How a notification looks; the page and its service worker show the same ones. */
import {href} from '../address.ts';
import type {PushKind} from '../ahp/own.ts';
import {visible} from '../ui/visible.ts';
import {notify} from '../words/notify.ts';

const BODIES: Record<PushKind, string> = {needsInput: notify.needsInput, failed: notify.failedTurn, finished: notify.finishedTurn};

/** A notification as browsers take it. The tag makes a session's newest replace its older ones. */
export function shown(note: {kind: PushKind; session: string; chat?: string | undefined; title?: string | undefined; text?: string | undefined}): {title: string; options: NotificationOptions} {
  const said = visible(note.text ?? '');
  const body = BODIES[note.kind] + (said ? `\n${said}` : '');
  const to = href({at: 'session', session: note.session, chat: note.chat});
  return {title: visible(note.title ?? '') || 'agenthost', options: {body, tag: note.session, data: {to}, icon: '/icon-192.png', badge: '/icon-192.png'}};
}
