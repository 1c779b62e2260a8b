/** The page's places: what an address means, and going from one to another. */
import {type ReadonlySignal, signal} from '@preact/signals';
import {decoded, encoded} from './ahp/uris.ts';

export type Panel = 'changes' | 'files' | 'terminals' | 'notes';

/** The panels, in the order of their tabs. */
export const PANELS: readonly Panel[] = ['changes', 'files', 'terminals', 'notes'];

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

const named = (uri: string): string => `~${encoded(uri)}`;
const sessionId = (uri: string): string => {
  const id = uri.startsWith(SESSION) ? uri.slice(SESSION.length) : '';
  return SHORT.test(id) ? id : named(uri);
};
const uriOf = (id: string): string | undefined => (id.startsWith('~') ? decoded(id.slice(1)) : undefined);
const sessionOf = (id: string): string | undefined => uriOf(id) ?? (SHORT.test(id) ? SESSION + id : undefined);

/** The place that an address means; the list if it means none. */
export function parse(url: URL): Route {
  const [first, ...rest] = url.pathname.split('/').filter(Boolean).map(unescaped);
  if (first === 'new') return {at: 'new'};
  if (first === 's') return session(rest, url.searchParams) ?? {at: 'list'};
  if (first === 'automations') return {at: 'automations', id: rest[0], run: rest[1] === 'runs' ? rest[2] : undefined};
  if (first === 'settings') return {at: 'settings', section: rest[0]};
  if (first === 'inspect') return {at: 'inspect'};
  return {at: 'list'};
}

function session(path: readonly string[], query: URLSearchParams): Route | undefined {
  const uri = sessionOf(path[0] ?? '');
  if (uri === undefined) return undefined;
  const chat = path[1] === 'c' ? uriOf(path[2] ?? '') : undefined;
  const turnAt = path.indexOf('t', 1);
  const panel = PANELS.find(name => name === query.get('panel'));
  const line = Number(query.get('line'));
  return {
    at: 'session',
    session: uri,
    chat,
    turn: turnAt > 0 ? path[turnAt + 1] : undefined,
    panel,
    file: query.get('file') ?? undefined,
    line: Number.isInteger(line) && line > 0 ? line : undefined,
  };
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The address of a place. */
export function href(to: Route): string {
  switch (to.at) {
    case 'list': return '/';
    case 'new': return '/new';
    case 'session': return sessionHref(to);
    case 'automations': return ['/automations', to.id, to.run && `runs/${encodeURIComponent(to.run)}`].filter(Boolean).join('/');
    case 'settings': return to.section ? `/settings/${encodeURIComponent(to.section)}` : '/settings';
    case 'inspect': return '/inspect';
  }
}

function sessionHref(to: SessionRoute): string {
  const chat = to.chat === undefined ? '' : `/c/${named(to.chat)}`;
  const turn = to.turn === undefined ? '' : `/t/${encodeURIComponent(to.turn)}`;
  const query = new URLSearchParams();
  if (to.panel) query.set('panel', to.panel);
  if (to.file !== undefined) query.set('file', to.file);
  if (to.line !== undefined) query.set('line', String(to.line));
  const asked = query.size ? `?${query}` : '';
  return `/s/${sessionId(to.session)}${chat}${turn}${asked}`;
}

const here = signal<Route>(parse(new URL(location.href)));

/** Where the page is. */
export const route: ReadonlySignal<Route> = here;

/** Go to a place; replaced places are not come back to. */
export function go(to: Route, o: {replace?: boolean} = {}): void {
  if (o.replace) history.replaceState(null, '', href(to));
  else history.pushState(null, '', href(to));
  here.value = to;
}

const layers: (() => void)[] = [];
// Steps back that the page itself takes, to drop the entry of a layer that is closed already.
let ownSteps = 0;

/** Put something over the page that Back closes first; gives what takes it away. */
export function pushLayer(close: () => void): () => void {
  layers.push(close);
  history.pushState(null, '', location.href);
  return () => {
    const index = layers.indexOf(close);
    if (index < 0) return;
    layers.splice(index, 1);
    ownSteps += 1;
    history.back();
  };
}

window.addEventListener('popstate', () => {
  if (ownSteps > 0) {
    ownSteps -= 1;
    return;
  }
  const close = layers.pop();
  if (close) close();
  else here.value = parse(new URL(location.href));
});
