/** The page's places: what an address means, and going from one to another. */
import {type ReadonlySignal, type Signal, signal} from '@preact/signals';
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

/** Where a page is, and the entries of its history; `pushLayer` puts entries there that only Back sees. */
export class Places {
  readonly route: ReadonlySignal<Route>;
  private readonly window: Pick<Window, 'history' | 'location' | 'addEventListener'>;
  private readonly here: Signal<Route>;
  private layers: {readonly id: number; close(): void}[] = [];
  private lastLayer = 0;
  // Steps back that the page itself takes, to drop the entry of a layer that is closed already; and what waits for them.
  private ownSteps = 0;
  private afterSteps: (() => void)[] = [];

  constructor(window: Pick<Window, 'history' | 'location' | 'addEventListener'>) {
    this.window = window;
    this.here = signal(parse(new URL(window.location.href)));
    this.route = this.here;
    // A page that was reloaded under a sheet has none now.
    if (layerIn(window.history.state)) window.history.replaceState(null, '', window.location.href);
    window.addEventListener('popstate', () => this.popped());
  }

  /** Go to a place; replaced places are not come back to. */
  go(to: Route, o: {replace?: boolean} = {}): void {
    this.here.value = to;
    this.afterOwnSteps(() => {
      const {history} = this.window;
      // The entry of a layer stands for the same place as the one below it: it becomes the new place's.
      if (o.replace || layerIn(history.state)) history.replaceState(null, '', href(to));
      else history.pushState(null, '', href(to));
    });
  }

  /** Put something over the page that Back closes first; gives what takes it away. */
  pushLayer(close: () => void): () => void {
    const id = (this.lastLayer += 1);
    this.layers.push({id, close});
    this.afterOwnSteps(() => this.window.history.pushState({layer: id}, '', this.window.location.href));
    return () => this.removeLayer(id);
  }

  private removeLayer(id: number): void {
    const {length} = this.layers;
    this.layers = this.layers.filter(layer => layer.id !== id);
    if (this.layers.length === length) return;
    this.afterOwnSteps(() => {
      // Somebody went elsewhere from it, and its entry is that place's now.
      if (layerIn(this.window.history.state) !== id) return;
      this.ownSteps += 1;
      this.window.history.back();
    });
  }

  // Going back takes a while, and until it is done the history still stands on the entry that goes.
  private afterOwnSteps(run: () => void): void {
    if (this.ownSteps > 0) this.afterSteps.push(run);
    else run();
  }

  private popped(): void {
    if (this.ownSteps > 0) {
      this.ownSteps -= 1;
      while (this.ownSteps === 0 && this.afterSteps.length) this.afterSteps.shift()?.();
      return;
    }
    const at = layerIn(this.window.history.state) ?? 0;
    const above = this.layers.filter(layer => layer.id > at);
    this.layers = this.layers.filter(layer => layer.id <= at);
    for (const layer of above.toReversed()) layer.close();
    // A layer that was left without closing it.
    if (at && !this.layers.some(layer => layer.id === at)) this.window.history.back();
    const {href: address} = this.window.location;
    const url = new URL(address);
    if (href(this.here.peek()) !== url.pathname + url.search) this.here.value = parse(url);
  }
}

const layerIn = (state: unknown): number | undefined => (state as {layer?: number} | null)?.layer;

const places = new Places(window);

/** Where the page is. */
export const route: ReadonlySignal<Route> = places.route;

/** Go to a place; replaced places are not come back to. */
export const go = (to: Route, o: {replace?: boolean} = {}): void => places.go(to, o);

/** Put something over the page that Back closes first; gives what takes it away. */
export const pushLayer = (close: () => void): (() => void) => places.pushLayer(close);
