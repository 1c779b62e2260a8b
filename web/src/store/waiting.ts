/**
 * What waits for a person, over all sessions.
 *
 * Summaries tell which sessions wait; only those are followed, for their `inputNeeded`. Nothing says
 * since when a request waits, so it is when this page first saw it, or the session's last change
 * before that.
 */
import type {SessionInputRequest, SessionState, SessionSummary} from '../ahp/index.ts';
import {ACTIVITY_MASK, INPUT_NEEDED, IS_ARCHIVED} from '../ahp/status.ts';
import type {Followed, Waiting} from './index.ts';

/** Sessions followed for what they wait for; a list longer than this nobody works off by looking. */
export const MOST_WAITING = 64;

/** Whether a session waits for a person. */
export const isWaiting = (summary: SessionSummary): boolean =>
  (summary.status & ACTIVITY_MASK) === INPUT_NEEDED && (summary.status & IS_ARCHIVED) === 0;

/** Whether a request is a person's to answer. */
const isForPeople = (request: SessionInputRequest): boolean => request.kind !== 'toolClientExecution';

export class WaitingList {
  private readonly open: (session: string) => Followed<SessionState>;
  private readonly now: () => number;
  private followed = new Map<string, Followed<SessionState>>();
  private firstSeen = new Map<string, number>();
  private last: readonly Waiting[] = [];

  constructor(open: (session: string) => Followed<SessionState>, now: () => number) {
    this.open = open;
    this.now = now;
  }

  /** Follow the sessions that wait, and let go of those that do no more. */
  follow(summaries: Iterable<SessionSummary>): void {
    const waiting = [...summaries].filter(isWaiting);
    // Those that wait longest stand first in the list; one that is followed stays so, whatever changes in it.
    const isNew = (summary: SessionSummary): boolean => !this.followed.has(summary.resource);
    const added = waiting.filter(isNew).toSorted((one, other) => this.start(one) - this.start(other));
    const wanted = [...waiting.filter(summary => !isNew(summary)), ...added].slice(0, MOST_WAITING);
    const uris = new Set(wanted.map(summary => summary.resource));
    for (const uri of uris) if (!this.followed.has(uri)) this.followed.set(uri, this.open(uri));
    for (const [uri, followed] of this.followed) {
      if (uris.has(uri)) continue;
      followed.release();
      this.followed.delete(uri);
    }
  }

  /** What waits now, the longest waiting first. Reads signals: inside a computed it follows them. */
  list(summaries: ReadonlyMap<string, SessionSummary>): readonly Waiting[] {
    const found: Waiting[] = [];
    const seen = new Map<string, number>();
    for (const [session, followed] of this.followed) {
      const needed: unknown = followed.state.value?.inputNeeded;
      // What one session gets wrong must not hide what the others wait for.
      for (const request of Array.isArray(needed) ? (needed as readonly SessionInputRequest[]) : []) {
        if (typeof request?.id !== 'string' || !isForPeople(request)) continue;
        const key = `${session} ${request.id}`;
        const since = this.firstSeen.get(key) ?? this.start(summaries.get(session));
        seen.set(key, since);
        found.push({session, chat: request.chat, request, since});
      }
    }
    this.firstSeen = seen;
    found.sort((one, other) => one.since - other.since);
    // Sessions change all the time in what does not matter here; then nobody is to draw anew.
    if (!sameWaiting(this.last, found)) this.last = found;
    return this.last;
  }

  private start(summary: SessionSummary | undefined): number {
    const changed = Date.parse(summary?.modifiedAt ?? '');
    return Number.isNaN(changed) ? this.now() : Math.min(changed, this.now());
  }
}

const sameWaiting = (one: readonly Waiting[], other: readonly Waiting[]): boolean =>
  one.length === other.length && one.every((waiting, index) => waiting.request === other[index]!.request && waiting.session === other[index]!.session);
