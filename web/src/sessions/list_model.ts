/** The session list as one pure function: which sections there are, in which order, and what each row says. */
import type {SessionSummary} from '../ahp/index.ts';
import {ACTIVITY_MASK, ERROR, IN_PROGRESS, INPUT_NEEDED, IS_ARCHIVED, IS_READ} from '../ahp/status.ts';
import {type Ask, type WaitingRequest, askOf} from './asks.ts';

export type Activity = 'needs' | 'working' | 'error' | 'idle';
export type Shown = 'current' | 'unread' | 'archived';

/** What sessions are grouped by; sessions without a folder have an empty key and name. */
export interface Project {
  readonly key: string;
  readonly name: string;
}

/** One session, as its row shows it. */
export interface Row {
  readonly uri: string;
  readonly title: string;
  readonly provider: string;
  readonly activity: Activity;
  readonly unread: boolean;
  readonly archived: boolean;
  readonly muted: boolean;
  /** What it is doing, in the agent's words. */
  readonly doing: string | undefined;
  readonly modified: number;
  readonly additions: number;
  readonly deletions: number;
  readonly project: Project;
  readonly ask: Ask | undefined;
}

/** Rows under one heading; the sections of projects have the project's name as their title. */
export interface Section {
  readonly key: string;
  readonly kind: 'needs' | 'project';
  readonly title: string;
  readonly rows: readonly Row[];
}

/** What the list is made of. */
export interface ListInput {
  readonly sessions: readonly SessionSummary[];
  readonly waiting: readonly WaitingRequest[];
  readonly shown: Shown;
  /** The sessions that match a search, the best first; undefined without a search. */
  readonly found?: readonly string[] | undefined;
  readonly muted: ReadonlySet<string>;
  /** Sessions being disposed of, which may yet be kept. */
  readonly hidden: ReadonlySet<string>;
}

const NO_PROJECT: Project = {key: '', name: ''};

/** Make the list's sections. */
export function sections(input: ListInput): readonly Section[] {
  const asks = asksBySession(input.waiting);
  const found = input.found && new Set(input.found);
  const rows = input.sessions
    .filter(session => !input.hidden.has(session.resource) && (!found || found.has(session.resource)))
    .map(session => rowOf(session, asks.get(session.resource), input.muted))
    .filter(row => isShown(row, input));
  const needing = rows.filter(needsSomebody).toSorted((a, b) => waitingSince(a) - waitingSince(b));
  const others = rows.filter(row => !needsSomebody(row));
  const needs: Section[] = needing.length ? [{key: 'needs', kind: 'needs', title: '', rows: needing}] : [];
  return [...needs, ...byProject(others)];
}

/** The row of one session. */
export function rowOf(session: SessionSummary, ask: Ask | undefined, muted: ReadonlySet<string>): Row {
  const status = session.status;
  const activity = ask ? 'needs' : activityOf(status);
  return {
    uri: session.resource,
    title: session.title,
    provider: session.provider,
    activity,
    unread: (status & IS_READ) === 0,
    archived: (status & IS_ARCHIVED) !== 0,
    muted: muted.has(session.resource),
    doing: session.activity,
    modified: Date.parse(session.modifiedAt) || 0,
    additions: session.changes?.additions ?? 0,
    deletions: session.changes?.deletions ?? 0,
    project: projectOf(session),
    ask,
  };
}

/** What a status says that a session is doing. */
export function activityOf(status: number): Activity {
  const activity = status & ACTIVITY_MASK;
  if ((activity & INPUT_NEEDED) === INPUT_NEEDED) return 'needs';
  if (activity & IN_PROGRESS) return 'working';
  return activity & ERROR ? 'error' : 'idle';
}

/** The project of a session: what it says, else its first folder. */
export function projectOf(session: SessionSummary): Project {
  if (session.project) return {key: String(session.project.uri), name: String(session.project.displayName ?? '')};
  const folder = session.workingDirectories?.[0];
  return typeof folder !== 'string' ? NO_PROJECT : {key: folder, name: lastSegment(folder)};
}

/** The last segment of a URI's path, decoded where that is possible. */
export function lastSegment(uri: string): string {
  const segment = uri.replace(/\/+$/, '').split('/').at(-1) ?? uri;
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

function asksBySession(waiting: readonly WaitingRequest[]): ReadonlyMap<string, Ask> {
  const found = new Map<string, Ask>();
  for (const [session, requests] of grouped(waiting, one => one.session)) {
    const ask = askOf(requests);
    if (ask) found.set(session, ask);
  }
  return found;
}

// Who archived a session does not wait for it any more.
const needsSomebody = (row: Row): boolean => row.activity === 'needs' && !row.archived;

function isShown(row: Row, input: ListInput): boolean {
  // What waits for somebody is never filtered away, and a search looks everywhere.
  if (needsSomebody(row) || input.found) return true;
  if (input.shown === 'archived') return row.archived;
  return !row.archived && (input.shown === 'current' || row.unread);
}

// Until the requests of a session are known, it waits since its last change.
const waitingSince = (row: Row): number => row.ask?.since ?? row.modified;

const byRank = (a: Row, b: Row): number => Number(b.activity === 'working') - Number(a.activity === 'working') || b.modified - a.modified;

function byProject(rows: readonly Row[]): readonly Section[] {
  const groups = [...grouped(rows, row => row.project.key)];
  const names = groups.map(([, group]) => group[0]!.project.name);
  const made = groups.map(([key, group], index): Section => {
    const name = names[index]!;
    const isAmbiguous = names.indexOf(name) !== names.lastIndexOf(name);
    const title = isAmbiguous && key ? `${name} (${parentSegment(key)})` : name;
    return {key: `project:${key}`, kind: 'project', title, rows: group.toSorted(byRank)};
  });
  return made.toSorted((a, b) => lastChange(b) - lastChange(a));
}

const parentSegment = (uri: string): string => lastSegment(uri.replace(/\/+$/, '').split('/').slice(0, -1).join('/'));

const lastChange = (section: Section): number => Math.max(...section.rows.map(row => row.modified));

function grouped<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return groups;
}
