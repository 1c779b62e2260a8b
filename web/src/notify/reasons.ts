/**
 * What is worth telling somebody who does not look: one reason per session.
 *
 * Pure: sessions in, reasons out. When something is told is `notifier`'s.
 */
import type {SessionSummary, StringOrMarkdown} from '../ahp/index.ts';
import type {PushKind} from '../ahp/own.ts';
import {ACTIVITY_MASK, ERROR, IDLE, INPUT_NEEDED, IN_PROGRESS, IS_READ} from '../ahp/status.ts';
import type {Waiting} from '../store/index.ts';

/** Milliseconds: turns that took longer are told of when they end. */
export const LONG_TURN = 60_000;

export interface Reason {
  readonly kind: PushKind;
  readonly session: string;
  readonly chat?: string | undefined;
  readonly title: string;
  readonly text: string;
  /** Tells it from others of the session. */
  readonly id: string;
}

const isWorking = (activity: number): boolean => activity === IN_PROGRESS || activity === INPUT_NEEDED;
const plain = (text: StringOrMarkdown | undefined): string => (typeof text === 'string' ? text : text?.markdown ?? '');

/** What is asked for, in a line or two. */
export function askedFor({request}: Waiting): string {
  if (request.kind === 'chatInput') return request.request?.message ?? request.request?.questions?.[0]?.message ?? '';
  const call = request.toolCall;
  // A kind that this page does not know, of a newer host.
  if (typeof call !== 'object' || call === null) return '';
  const title = ('confirmationTitle' in call && plain(call.confirmationTitle)) || plain(call.invocationMessage);
  return [title, 'toolInput' in call && typeof call.toolInput === 'string' ? call.toolInput : ''].filter(Boolean).join('\n').slice(0, 600);
}

/** Looks at the sessions as they change. */
export class Reasons {
  private readonly now: () => number;
  private readonly workingSince = new Map<string, number>();
  private readonly ended = new Map<string, PushKind>();

  constructor(now: () => number) {
    this.now = now;
  }

  /** The reasons that hold now, by session. What has ended counts until it is read. */
  look(sessions: readonly SessionSummary[], waiting: readonly Waiting[]): ReadonlyMap<string, Reason> {
    for (const summary of sessions) this.follow(summary);
    const byUri = new Map(sessions.map(summary => [summary.resource, summary]));
    const found = new Map<string, Reason>();
    for (const [session, kind] of this.ended) {
      const summary = byUri.get(session);
      if (summary) found.set(session, {kind, session, title: summary.title, text: '', id: `${kind} ${summary.modifiedAt}`});
    }
    for (const each of waiting) {
      const title = byUri.get(each.session)?.title ?? '';
      // The one that waits longest stands for all of its session.
      if (found.get(each.session)?.kind !== 'needsInput') found.set(each.session, {kind: 'needsInput', session: each.session, chat: each.chat, title, text: askedFor(each), id: each.request.id});
    }
    return found;
  }

  private follow({resource, status}: SessionSummary): void {
    const activity = status & ACTIVITY_MASK;
    const since = this.workingSince.get(resource);
    if (isWorking(activity)) {
      this.ended.delete(resource);
      if (since === undefined) this.workingSince.set(resource, this.now());
      return;
    }
    this.workingSince.delete(resource);
    if (status & IS_READ) this.ended.delete(resource);
    else if (since === undefined) return;
    else if (activity === ERROR) this.ended.set(resource, 'failed');
    else if (activity === IDLE && this.now() - since > LONG_TURN) this.ended.set(resource, 'finished');
  }
}
