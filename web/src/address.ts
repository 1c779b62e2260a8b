/** The page's places: what an address means. Pure, so that the service worker can use it too. */
import {decoded, encoded} from './ahp/uris.ts';

export type Panel = 'changes' | 'files' | 'terminals' | 'notes' | 'tools';

/** The panels, in the order of their tabs. */
export const PANELS: readonly Panel[] = ['changes', 'files', 'terminals', 'notes', 'tools'];

export interface SessionRoute {
  readonly at: 'session';
  readonly session: string;
  /** Without it, the session's default chat. */
  readonly chat?: string | undefined;
  readonly turn?: string | undefined;
  readonly panel?: Panel | undefined;
  readonly file?: string | undefined;
  readonly line?: number | undefined;
}

export type Route =
  | {readonly at: 'list'}
  | {readonly at: 'new'}
  | SessionRoute
  | {readonly at: 'automations'; readonly id?: string | undefined; readonly run?: string | undefined}
  | {readonly at: 'settings'; readonly section?: string | undefined}
  | {readonly at: 'inspect'};

const SESSION = 'ahp-session:/';
const SHORT = /^[\w-]+$/;

// Names in an address: plain where nothing in them means something in one, else spelled in base64.
const spelled = (name: string): string => (SHORT.test(name) ? name : `~${encoded(name)}`);
const named = (part: string | undefined): string | undefined => (part?.startsWith('~') ? decoded(part.slice(1)) : part && SHORT.test(part) ? part : undefined);

const sessionId = (uri: string): string => {
  const id = uri.startsWith(SESSION) ? uri.slice(SESSION.length) : '';
  return SHORT.test(id) ? id : `~${encoded(uri)}`;
};
const sessionOf = (id: string): string | undefined => (SHORT.test(id) ? SESSION + id : named(id));

/** The place that an address means; the list if it means none. */
export function parse(url: URL): Route {
  const [first, ...rest] = url.pathname.split('/').filter(Boolean);
  if (first === 'new') return {at: 'new'};
  if (first === 's') return session(rest, url.searchParams) ?? {at: 'list'};
  if (first === 'automations') return {at: 'automations', id: named(rest[0]), run: rest[1] === 'runs' ? named(rest[2]) : undefined};
  if (first === 'settings') return {at: 'settings', section: named(rest[0])};
  if (first === 'inspect') return {at: 'inspect'};
  return {at: 'list'};
}

function session(path: readonly string[], query: URLSearchParams): Route | undefined {
  const uri = sessionOf(path[0] ?? '');
  if (uri === undefined) return undefined;
  const chat = path[1] === 'c' ? named(path[2]) : undefined;
  const turnAt = path[1] === 'c' ? 3 : 1;
  const panel = PANELS.find(name => name === query.get('panel'));
  const line = Number(query.get('line'));
  return {
    at: 'session',
    session: uri,
    chat,
    turn: path[turnAt] === 't' ? named(path[turnAt + 1]) : undefined,
    panel,
    file: query.get('file') ?? undefined,
    line: Number.isInteger(line) && line > 0 ? line : undefined,
  };
}

/** The address of a place. */
export function href(to: Route): string {
  switch (to.at) {
    case 'list': return '/';
    case 'new': return '/new';
    case 'session': return sessionHref(to);
    case 'automations': return automationHref(to.id, to.run);
    case 'settings': return to.section ? `/settings/${spelled(to.section)}` : '/settings';
    case 'inspect': return '/inspect';
  }
}

function automationHref(id: string | undefined, run: string | undefined): string {
  if (!id) return '/automations';
  return `/automations/${spelled(id)}${run ? `/runs/${spelled(run)}` : ''}`;
}

function sessionHref(to: SessionRoute): string {
  const chat = to.chat === undefined ? '' : `/c/${spelled(to.chat)}`;
  const turn = to.turn === undefined ? '' : `/t/${spelled(to.turn)}`;
  const query = new URLSearchParams();
  if (to.panel) query.set('panel', to.panel);
  if (to.file !== undefined) query.set('file', to.file);
  if (to.line !== undefined) query.set('line', String(to.line));
  const asked = query.size ? `?${query}` : '';
  return `/s/${sessionId(to.session)}${chat}${turn}${asked}`;
}
