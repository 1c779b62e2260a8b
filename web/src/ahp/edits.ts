/**
 * Copy-on-write edits of JSON values, shared by every reducer.
 *
 * Owns the two rules that reducers lean on: an absent member and a null one differ, and an edit that
 * changes nothing gives back the same object. Nothing here mutates what it is given.
 */

// JSON of a host: what it holds is for the reducers to find out.
export type J = any;

/** Whether two JSON values are equal. */
export function same(one: J, other: J): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  if (Array.isArray(one) || Array.isArray(other)) {
    if (!Array.isArray(one) || !Array.isArray(other) || one.length !== other.length) return false;
    return one.every((item, index) => same(item, other[index]));
  }
  const keys = Object.keys(one);
  if (keys.length !== Object.keys(other).length) return false;
  return keys.every(key => Object.hasOwn(other, key) && same(one[key], other[key]));
}

/** `before` if `after` equals it, so that callers may test with `===`. */
export const sameIfEqual = <T>(before: T, after: T): T => (same(before, after) ? before : after);

/** The state with those members set; the same object when it has them all already. */
export const updated = <T extends object>(state: T, members: object): T => sameIfEqual(state, {...state, ...members});

/** The state lacking those members. */
export function without<T extends object>(state: T, ...keys: string[]): T {
  if (!keys.some(key => Object.hasOwn(state, key))) return state;
  return Object.fromEntries(Object.entries(state).filter(([key]) => !keys.includes(key))) as T;
}

/** Those members that the source has; absent stays absent and null stays null. */
export const carry = (source: J, ...keys: string[]): J =>
  Object.fromEntries(keys.filter(key => Object.hasOwn(source, key) && source[key] !== undefined).map(key => [key, source[key]]));

/** Those members that the source has and that are not null. */
export const carryGiven = (source: J, ...keys: string[]): J =>
  Object.fromEntries(Object.entries(carry(source, ...keys)).filter(([, value]) => value !== null));

/** Those members as `first` gives them, else (absent or null) as `second` has them. */
export const prefer = (first: J, second: J, ...keys: string[]): J => ({...carry(second, ...keys), ...carryGiven(first, ...keys)});

/** The state with those members copied from the source; missing ones are removed. */
export function copied<T extends object>(state: T, source: J, ...keys: string[]): T {
  const given = carry(source, ...keys);
  return updated(without(state, ...keys.filter(key => !Object.hasOwn(given, key))), given);
}

/** The state with a whole list under a key; without any the member is removed. */
export const replacedList = <T extends object>(state: T, key: string, items: J): T =>
  items == null ? without(state, key) : updated(state, {[key]: items});

/** The state with the item in the list under a key; the same object if it is there. */
export function withItem<T extends object>(state: T, key: string, item: string): T {
  const items: string[] = (state as J)[key] ?? [];
  return items.includes(item) ? state : {...state, [key]: [...items, item]};
}

/** The state without the item in the list under a key; an emptied list stays. */
export function withoutItem<T extends object>(state: T, key: string, item: string): T {
  const items: string[] = (state as J)[key] ?? [];
  const at = items.indexOf(item);
  return at < 0 ? state : {...state, [key]: items.toSpliced(at, 1)};
}

/** Where the first item lies whose `key` equals the value, or -1; an absent list has none. */
export const indexBy = (items: readonly J[] | null | undefined, key: string, value: J): number =>
  (items ?? []).findIndex(item => Object.hasOwn(item, key) && item[key] === value);

/** The items with the one at an index replaced. */
export const replaceAt = <T>(items: readonly T[], index: number, item: T): T[] => items.with(index, item);

/** The items with one in place of the first of equal `key`, or else appended. */
export function upsertBy(items: readonly J[] | null | undefined, key: string, item: J): J[] {
  const index = indexBy(items, key, item[key]);
  return index < 0 ? [...(items ?? []), item] : replaceAt(items ?? [], index, item);
}

/** The items without the first whose `key` equals the value; undefined if there is none. */
export function removeBy(items: readonly J[] | null | undefined, key: string, value: J): J[] | undefined {
  const index = indexBy(items, key, value);
  return index < 0 || !items ? undefined : items.toSpliced(index, 1);
}
