/** Keeping the list still while somebody is in it: rows stay where they are, and what would move is counted. Pure. */
import type {Row, Section} from './list_model.ts';

/** A row that is shown at a kept place; `gone` if it is no longer in the list, `settled` if its request was answered meanwhile. */
export interface KeptRow extends Row {
  readonly gone: boolean;
  readonly settled: boolean;
}

/** Sections whose rows may be kept at their places. */
export interface KeptSection extends Omit<Section, 'rows'> {
  readonly rows: readonly KeptRow[];
}

/** What to show, and how many rows would be elsewhere or otherwise if the list were not kept still. */
export interface Kept {
  readonly sections: readonly KeptSection[];
  readonly updates: number;
  /** How many of the updates are sessions that came to need somebody. */
  readonly needing: number;
}

/** The sections as they are, nothing kept. */
export const loose = (sections: readonly Section[]): Kept => ({
  sections: sections.map(section => ({...section, rows: section.rows.map(row => ({...row, gone: false, settled: false}))})),
  updates: 0,
  needing: 0,
});

/**
 * The sections at the places where they were shown, with what is new about each row.
 *
 * A row's height depends on its request, so that is kept too: one that was answered is told as such, and a new one waits.
 */
export function keptAt(shown: readonly KeptSection[], fresh: readonly Section[]): Kept {
  const rows = new Map(fresh.flatMap(section => section.rows.map(row => [row.uri, row] as const)));
  const sections = shown.map(section => ({...section, rows: section.rows.map(row => keptRow(row, rows.get(row.uri)))}));
  return {sections, updates: updatesBetween(sections, fresh), needing: needingBeyond(shown, fresh)};
}

function keptRow(shown: KeptRow, fresh: Row | undefined): KeptRow {
  if (!fresh) return {...shown, gone: true, settled: shown.ask !== undefined};
  const settled = shown.ask !== undefined && shown.ask.id !== fresh.ask?.id;
  const ask = settled || shown.ask === undefined ? shown.ask : fresh.ask;
  return {...fresh, ask, gone: false, settled};
}

function updatesBetween(shown: readonly KeptSection[], fresh: readonly Section[]): number {
  const before = places(shown);
  const after = places(fresh);
  let updates = 0;
  for (const [uri, place] of after) if (before.get(uri) !== place) updates += 1;
  for (const uri of before.keys()) if (!after.has(uri)) updates += 1;
  const reordered = updates === 0 && [...before.keys()].join('\n') !== [...after.keys()].join('\n');
  return reordered ? 1 : updates;
}

function needingBeyond(shown: readonly Section[], fresh: readonly Section[]): number {
  const needing = (sections: readonly Section[]): string[] => sections.filter(section => section.kind === 'needs').flatMap(section => section.rows.map(row => row.uri));
  const known = new Set(needing(shown));
  return needing(fresh).filter(uri => !known.has(uri)).length;
}

// A row is elsewhere if it is in another section or asks for something else. Who overtook whom inside a section is one update.
function places(sections: readonly Section[]): Map<string, string> {
  return new Map(sections.flatMap(section => section.rows.map(row => [row.uri, `${section.key}\n${row.ask?.id ?? ''}`] as const)));
}

/** The rows that did not change as the objects that they were, so that nothing draws them again. */
export function steadied(before: readonly KeptSection[], after: readonly KeptSection[]): readonly KeptSection[] {
  const rows = new Map(before.flatMap(section => section.rows.map(row => [row.uri, row] as const)));
  return after.map(section => ({
    ...section,
    rows: section.rows.map(row => {
      const known = rows.get(row.uri);
      return known && isSame(known, row) ? known : row;
    }),
  }));
}

function isSame(one: KeptRow, other: KeptRow): boolean {
  return sameMembers(comparable(one), comparable(other)) && sameMembers(one.ask ?? {}, other.ask ?? {}, 'offer') && sameMembers(one.ask?.offer ?? {}, other.ask?.offer ?? {});
}

// A row's request and project are made anew with every look at the list.
const comparable = (row: KeptRow): object => ({...row, ask: row.ask?.id, project: row.project.key});

function sameMembers(one: object, other: object, except?: string): boolean {
  const mine = Object.entries(one);
  const theirs = new Map(Object.entries(other));
  return mine.length === theirs.size && mine.every(([key, value]) => key === except || Object.is(value, theirs.get(key)));
}
