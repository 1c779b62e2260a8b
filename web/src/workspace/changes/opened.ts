/** The files of a set of changes that somebody has opened, and what was loaded of them. */
import {type ReadonlySignal, signal} from '@preact/signals';
import type {ChangesetFile} from '../../ahp/index.ts';
import type {Store} from '../../store/index.ts';
import {contentKey} from './catalogue.ts';
import {type Loaded, loadEdit} from './contents.ts';

/** A file that is open; without `loaded` it is on its way. */
export interface OpenFile {
  readonly key: string;
  readonly loaded?: Loaded;
  /** The stretches of unchanged lines that are shown. */
  readonly gaps: ReadonlySet<number>;
}

const keyOf = ({edit}: ChangesetFile): string => `${contentKey(edit.before)}\n${contentKey(edit.after)}`;

export class OpenedFiles {
  private readonly store: Store;
  private readonly open = signal<ReadonlyMap<string, OpenFile>>(new Map());

  constructor(store: Store) {
    this.store = store;
  }

  get files(): ReadonlySignal<ReadonlyMap<string, OpenFile>> {
    return this.open;
  }

  toggle(file: ChangesetFile): void {
    if (this.open.peek().has(file.id)) this.close(file.id);
    else void this.show(file);
  }

  close(id: string): void {
    const rest = new Map(this.open.peek());
    if (rest.delete(id)) this.open.value = rest;
  }

  /** Open a file, or load it anew; settles when it is loaded. */
  async show(file: ChangesetFile): Promise<void> {
    const key = keyOf(file);
    const before = this.open.peek().get(file.id);
    const isSame = before?.key === key;
    // What was shown stays until there is something newer, so that nothing jumps.
    this.set(file.id, {key, gaps: isSame ? before.gaps : new Set(), ...(before?.loaded?.is === 'rows' ? {loaded: before.loaded} : {})});
    const loaded = await loadEdit(this.store, file.edit);
    const now = this.open.peek().get(file.id);
    if (now?.key === key) this.set(file.id, {...now, loaded});
  }

  openGap(id: string, from: number): void {
    const file = this.open.peek().get(id);
    if (file) this.set(id, {...file, gaps: new Set(file.gaps).add(from)});
  }

  /** Follow what the host says: files that changed are loaded anew, those that went are closed. */
  follow(files: readonly ChangesetFile[]): void {
    const listed = new Map(files.map(file => [file.id, file]));
    for (const [id, {key}] of this.open.peek()) {
      const file = listed.get(id);
      if (!file) this.close(id);
      else if (keyOf(file) !== key) void this.show(file);
    }
  }

  private set(id: string, file: OpenFile): void {
    this.open.value = new Map(this.open.peek()).set(id, file);
  }
}
