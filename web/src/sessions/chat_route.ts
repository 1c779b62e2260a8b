/** The place of a chat: the session's own where it is the default one. */
import type {SessionSummary} from '../ahp/index.ts';
import {defaultChatUri} from '../ahp/uris.ts';
import type {SessionRoute} from '../route.ts';

export function chatRoute(sessions: readonly SessionSummary[], session: string, chat: string): SessionRoute {
  const known = sessions.find(one => one.resource === session)?.defaultChat ?? defaultChatUri(session);
  return chat === known ? {at: 'session', session} : {at: 'session', session, chat};
}
