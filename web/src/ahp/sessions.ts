/** The list of all sessions: read once, then kept up to date by notices. Those are not replayed, so it is read anew after every attach. */
import type {J} from './edits.ts';
import type {Methods} from './own.ts';
import type {SessionSummary} from './types.ts';

// What a change of a summary never touches.
const IDENTITY: ReadonlySet<string> = new Set(['resource', 'provider', 'createdAt']);

/** A summary with a partial update in it; an empty activity means that there is none. */
export function merged(summary: SessionSummary, changes: J): SessionSummary {
  const given = Object.entries(changes).filter(([key]) => !IDENTITY.has(key));
  const {activity, ...rest}: J = {...summary, ...Object.fromEntries(given)};
  return activity ? {...rest, activity} : rest;
}

interface Asking {
  request(method: 'listSessions', params: Methods['listSessions']['params']): Promise<Methods['listSessions']['result']>;
}

/** Read all pages of the host's list. */
export async function listSessions(core: Asking): Promise<SessionSummary[]> {
  const found: SessionSummary[] = [];
  let cursor: string | undefined;
  do {
    // Each page names the next one.
    // oxlint-disable-next-line no-await-in-loop
    const page: J = await core.request('listSessions', (cursor === undefined ? {} : {cursor}) as J);
    found.push(...page.items);
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return found;
}

export class SessionList {
  onChange: () => void = () => {};
  /** Whether it was read at least once; before, nothing can be said of what it lacks. */
  isRead = false;
  private byUri = new Map<string, SessionSummary>();
  // What was told while the list is being read.
  private meanwhile: [string, J][] | undefined;
  private readonly read: () => Promise<readonly SessionSummary[]>;

  constructor(read: () => Promise<readonly SessionSummary[]>) {
    this.read = read;
  }

  get sessions(): ReadonlyMap<string, SessionSummary> {
    return this.byUri;
  }

  /** Read the list anew; of two readings under way the later one counts. */
  async refresh(): Promise<void> {
    const told: [string, J][] = [];
    this.meanwhile = told;
    let listed: readonly SessionSummary[];
    try {
      listed = await this.read();
      if (this.meanwhile !== told) return;
    } finally {
      if (this.meanwhile === told) this.meanwhile = undefined;
    }
    this.byUri = new Map(listed.map(summary => [summary.resource, summary]));
    // The list may hold it already; then telling it again changes nothing.
    for (const [method, params] of told) this.apply(method, params);
    this.isRead = true;
    this.onChange();
  }

  /** Take in a notice; others than those of sessions are ignored. */
  notice(method: string, params: J): void {
    this.meanwhile?.push([method, params]);
    if (this.apply(method, params)) this.onChange();
  }

  private apply(method: string, params: J): boolean {
    const next = new Map(this.byUri);
    if (method === 'root/sessionAdded' && typeof params?.summary?.resource === 'string') {
      next.set(params.summary.resource, params.summary);
    } else if (method === 'root/sessionRemoved') {
      if (!next.delete(params?.session)) return false;
    } else if (method === 'root/sessionSummaryChanged') {
      const known = next.get(params?.session);
      if (!known || typeof params.changes !== 'object' || params.changes === null) return false;
      next.set(known.resource, merged(known, params.changes));
    } else {
      return false;
    }
    this.byUri = next;
    return true;
  }
}
