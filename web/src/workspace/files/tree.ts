/** Folders of the host as a tree: what was listed, and which folders are open. */
import {type ReadonlySignal, signal} from '@preact/signals';
import type {DirectoryEntry} from '../../ahp/index.ts';
import type {Store} from '../../store/index.ts';
import {failureText} from '../failure.ts';
import {childUri, foldersTo, isBelow, nameOf} from './paths.ts';

/** What is known of a folder; an empty listing without `isThere` is on its way. */
export interface Listing {
  readonly entries: readonly DirectoryEntry[];
  readonly isThere: boolean;
  /** Why it cannot be listed. */
  readonly failure?: string;
}

export interface TreeState {
  readonly open: ReadonlySet<string>;
  readonly listings: ReadonlyMap<string, Listing>;
}

export type TreeRow =
  | {readonly is: 'folder' | 'file'; readonly key: string; readonly uri: string; readonly name: string; readonly depth: number; readonly isOpen: boolean}
  | {readonly is: 'loading'; readonly key: string; readonly depth: number}
  | {readonly is: 'none'; readonly key: string; readonly depth: number}
  | {readonly is: 'failed'; readonly key: string; readonly uri: string; readonly depth: number; readonly text: string};

/** The rows of a tree; a single root is not shown itself. */
export function treeRows(roots: readonly string[], state: TreeState): TreeRow[] {
  const [only] = roots;
  if (only !== undefined && roots.length === 1) return inside(only, 0, state);
  return roots.flatMap(root => folder(root, nameOf(root), 0, state));
}

function folder(uri: string, name: string, depth: number, state: TreeState): TreeRow[] {
  const isOpen = state.open.has(uri);
  return [{is: 'folder', key: uri, uri, name, depth, isOpen}, ...(isOpen ? inside(uri, depth + 1, state) : [])];
}

function inside(uri: string, depth: number, state: TreeState): TreeRow[] {
  const listing = state.listings.get(uri);
  if (!listing?.isThere) return [{is: 'loading', key: `loading ${uri}`, depth}];
  if (listing.failure !== undefined) return [{is: 'failed', key: `failed ${uri}`, uri, depth, text: listing.failure}];
  if (!listing.entries.length) return [{is: 'none', key: `none ${uri}`, depth}];
  return listing.entries.flatMap((entry): TreeRow[] => {
    const at = childUri(uri, entry.name);
    return entry.type === 'directory' ? folder(at, entry.name, depth, state) : [{is: 'file', key: at, uri: at, name: entry.name, depth, isOpen: false}];
  });
}

const names = new Intl.Collator(undefined, {numeric: true, sensitivity: 'base'});

/** Folders first, then by name, as people count. */
export const sortedEntries = (entries: readonly DirectoryEntry[]): DirectoryEntry[] =>
  entries.toSorted((one, other) => Number(other.type === 'directory') - Number(one.type === 'directory') || names.compare(one.name, other.name));

/** A tree that somebody walks in. */
export class FileTree {
  private readonly store: Store;
  private readonly now = signal<TreeState>({open: new Set(), listings: new Map()});

  constructor(store: Store) {
    this.store = store;
  }

  get state(): ReadonlySignal<TreeState> {
    return this.now;
  }

  toggle(uri: string): void {
    const open = new Set(this.now.peek().open);
    if (!open.delete(uri)) {
      open.add(uri);
      this.list(uri);
    }
    this.now.value = {...this.now.peek(), open};
  }

  /** List a folder, if that was not done. */
  list(uri: string): void {
    if (!this.now.peek().listings.has(uri)) void this.read(uri);
  }

  /** Open all folders down to something. */
  reveal(uri: string, roots: readonly string[]): void {
    const root = roots.find(each => isBelow(uri, each));
    if (root === undefined) return;
    const wanted = [root, ...foldersTo(uri, root)];
    this.now.value = {...this.now.peek(), open: new Set([...this.now.peek().open, ...wanted])};
    for (const each of wanted) this.list(each);
  }

  /** List everything anew that is seen; what is there stays until then. */
  refresh(roots: readonly string[]): void {
    const {open, listings} = this.now.peek();
    const seen = [...listings.keys()].filter(uri => open.has(uri) || roots.includes(uri));
    this.now.value = {open, listings: new Map(seen.map(uri => [uri, listings.get(uri)!]))};
    for (const uri of seen) void this.read(uri);
  }

  private async read(uri: string): Promise<void> {
    const before = this.now.peek().listings.get(uri);
    this.set(uri, before ?? {entries: [], isThere: false});
    try {
      const {entries} = await this.store.ask('resourceList', {uri});
      this.set(uri, {entries: sortedEntries(entries), isThere: true});
    } catch (error) {
      this.set(uri, {entries: [], isThere: true, failure: failureText(error)});
    }
  }

  private set(uri: string, listing: Listing): void {
    const state = this.now.peek();
    this.now.value = {...state, listings: new Map(state.listings).set(uri, listing)};
  }
}
