/** The published fixtures, read where they lie; clones do not have them. */
import {existsSync, readFileSync, readdirSync} from 'node:fs';
import {sharedFolder} from '../../tools/types.mjs';

// oxlint-disable-next-line no-explicit-any
export type Json = any;

export const FOLDER = `${sharedFolder()}/conformance/1.0.0`;
export const WHY_SKIPPED = `no fixtures in ${FOLDER} (set AGENTHOST_SHARED)`;

/** All fixtures of a group by file name; none where the data is absent. */
export function fixtures(group: 'reducers' | 'round-trips'): [string, Json][] {
  const folder = `${FOLDER}/${group}`;
  if (!existsSync(folder)) return [];
  return readdirSync(folder).filter(name => name.endsWith('.json')).toSorted().map(name =>
    [name, JSON.parse(readFileSync(`${folder}/${name}`, 'utf8'))]);
}

/** The value without members that are null: in the fixtures they count as absent. */
export function bare(value: Json): Json {
  if (Array.isArray(value)) return value.map(bare);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member != null).map(([key, member]) => [key, bare(member)]));
}

/** The value, which from now on throws when somebody changes it. */
export function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(frozen);
  }
  return value;
}
