/** What the service worker answers by itself. Pure but for the caches and the network that it is given. */

/** What of a cache is used here. */
export interface Files {
  match(url: string): Promise<Response | undefined>;
  put(url: string, response: Response): Promise<void>;
}

export interface Fetching {
  readonly origin: string;
  /** Whether the host is this very machine, where another program may have its address tomorrow. */
  readonly isLoopback: boolean;
  files(): Promise<Files>;
  fetch(request: Request | string): Promise<Response>;
}

const INDEX = '/';
const ASSETS = '/assets/';
const PLACE = /^\/(?:$|new$|inspect$|s\/|automations(?:\/|$)|settings(?:\/|$))/;

/** Whether an address is a place of the page's: all of them are its index. */
export const isPlace = (pathname: string): boolean => PLACE.test(pathname);

/** The answer to a request; undefined for what is none of the worker's business. */
export function answer(request: Pick<Request, 'url' | 'method' | 'mode'>, world: Fetching): Promise<Response> | undefined {
  const url = new URL(request.url);
  if (request.method !== 'GET' || url.origin !== world.origin) return undefined;
  if (url.pathname.startsWith(ASSETS)) return asset(request as Request, world);
  if (request.mode === 'navigate' && isPlace(url.pathname)) return world.isLoopback ? networkFirst(world) : cachedIndex(world);
  return undefined;
}

// Names of assets have their content's hash in them, so what is kept is right for ever.
async function asset(request: Request, world: Fetching): Promise<Response> {
  const files = await world.files();
  const kept = await files.match(request.url);
  if (kept) return kept;
  const fresh = await world.fetch(request);
  if (fresh.ok) await files.put(request.url, fresh.clone());
  return fresh;
}

async function cachedIndex(world: Fetching): Promise<Response> {
  return (await (await world.files()).match(INDEX)) ?? world.fetch(INDEX);
}

async function networkFirst(world: Fetching): Promise<Response> {
  try {
    return await world.fetch(INDEX);
  } catch (error) {
    const kept = await (await world.files()).match(INDEX);
    if (kept) return kept;
    throw error;
  }
}
