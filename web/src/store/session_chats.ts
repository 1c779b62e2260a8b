/** Which chat of a session is meant. */
import type {SessionState} from '../ahp/index.ts';

/** The chat that a place names, else the session's default one; undefined while the session is not known. */
export function chatOf(session: SessionState | undefined, chat?: string): string | undefined {
  return chat ?? session?.defaultChat ?? session?.chats[0]?.resource;
}
