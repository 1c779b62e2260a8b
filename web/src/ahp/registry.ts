/**
 * The table of reducers: one small function per action type, and who may dispatch it.
 *
 * A reducer is pure, never mutates its input, and returns the same object when nothing changes. An
 * action's type is `kind/name`; the kind says which channel state it applies to.
 */
import type {J} from './edits.ts';

export const KINDS = [
  'root', 'session', 'chat', 'terminal', 'changeset', 'annotations', 'resourceWatch', 'automation', 'automationRun', 'canvas',
] as const;
export type Kind = (typeof KINDS)[number];

export type Reducer = (state: J, action: J) => J;

const table = new Map<string, Reducer>();
const clientMay = new Set<string>();
const touchedBy = new Map<string, ReadonlySet<string>>();

/** All reducers by action type. */
export const reducers: ReadonlyMap<string, Reducer> = table;

/**
 * Register a reducer. `client` says that clients may dispatch the action too; `touches` promises that
 * it looks at no other members of the state than these and changes no others.
 */
export function reduces(type: string, reducer: Reducer, o: {client?: boolean; touches?: readonly string[]} = {}): void {
  if (table.has(type)) throw new Error(`${type} has a reducer already`);
  if (kindOf(type) === undefined) throw new Error(`${type} belongs to no channel kind`);
  table.set(type, reducer);
  if (o.client) clientMay.add(type);
  if (o.touches) touchedBy.set(type, new Set(o.touches));
}

/** The channel kind that an action type belongs to; undefined for a foreign one. */
export function kindOf(type: string): Kind | undefined {
  const [prefix, name] = type.split('/', 2);
  return name === undefined ? undefined : KINDS.find(kind => kind === prefix);
}

/** Whether a client may dispatch this action; false for unknown types. */
export const mayDispatch = (type: string): boolean => clientMay.has(type);

/** The state members that an action's reducer reads or writes; undefined for any. */
export const touched = (type: string): ReadonlySet<string> | undefined => touchedBy.get(type);
