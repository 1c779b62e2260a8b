/** Channel URIs: the two that are fixed, and those that a client names or can work out. */

export const ROOT = 'ahp-root://';
export const AUTOMATIONS = 'ahp-automations://';

const ROOT_SPELLINGS: ReadonlySet<string> = new Set([ROOT, 'ahp-root:', 'ahp-root:/', 'ahp-root:///']);
const DEFAULT_CHAT = 'ahp-chat://default/';
const WORKER_CHAT = 'ahp-chat://subagent/';
const PLAIN = /^[A-Za-z0-9._~-]+$/;

export const isRoot = (uri: string): boolean => ROOT_SPELLINGS.has(uri);

/** The spelling under which a channel is registered; only the fixed ones have several. */
export function canonical(uri: string): string {
  if (ROOT_SPELLINGS.has(uri)) return ROOT;
  return uri.startsWith('ahp-automations:') ? AUTOMATIONS : uri;
}

export const sessionUri = (id: string): string => `ahp-session:/${id}`;
/** A further chat of a session. Editors read the session out of a chat's name, so it has it. */
export const chatUri = (session: string, id: string): string => `ahp-chat://${id}/${encoded(session)}`;
export const defaultChatUri = (session: string): string => DEFAULT_CHAT + encoded(session);
export const annotationsUri = (session: string): string => `${session}/annotations`;
export const terminalUri = (id: string): string => `ahp-terminal:/${id}`;

/** The session and the tool call that a worker chat's name tells. */
export function workerOf(uri: string): {session: string; call: string} | undefined {
  if (!uri.startsWith(WORKER_CHAT)) return undefined;
  const rest = uri.slice(WORKER_CHAT.length);
  const slash = rest.indexOf('/');
  const session = slash < 0 ? undefined : decoded(rest.slice(0, slash));
  const call = rest.slice(slash + 1);
  return session !== undefined && call ? {session, call} : undefined;
}

/** The path or the name in the URI of a content blob, if it has one. */
export function contentName(uri: string): string | undefined {
  const rest = uri.startsWith('ahp-content:') ? uri.slice('ahp-content:'.length) : uri;
  const query = rest.indexOf('?');
  if (query >= 0 && query < rest.length - 1) return rest.slice(0, query);
  const path = query < 0 ? rest : rest.slice(0, query);
  const slash = path.indexOf('/', 1);
  return slash < 0 ? undefined : path.slice(slash + 1) || undefined;
}

/** Base64 for URIs, without padding. */
export function encoded(text: string): string {
  const bytes = String.fromCharCode(...new TextEncoder().encode(text));
  return btoa(bytes).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

/** What `encoded` was given; undefined if this cannot be. */
export function decoded(text: string): string | undefined {
  if (!PLAIN.test(text)) return undefined;
  try {
    const bytes = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
    return new TextDecoder('utf-8', {fatal: true}).decode(Uint8Array.from(bytes, byte => byte.charCodeAt(0)));
  } catch {
    return undefined;
  }
}
