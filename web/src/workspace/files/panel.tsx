/** The workspace panel of files: a tree of the session's folders, and one file that is read. */
import {useComputed} from '@preact/signals';
import {ChevronDown, ChevronRight, File, Folder, RefreshCw} from 'lucide';
import {useEffect, useMemo, useRef} from 'preact/hooks';
import {ACTIVITY_MASK} from '../../ahp/status.ts';
import {go, route, type SessionRoute} from '../../route.ts';
import {type Store, useFollowed, useStore} from '../../store/index.ts';
import {Button} from '../../ui/button.tsx';
import {Icon} from '../../ui/icon.tsx';
import type {ChatRef} from '../../ui/registry.tsx';
import {visible} from '../../ui/safe.tsx';
import {Skeleton} from '../../ui/skeleton.tsx';
import {VirtualList} from '../../ui/virtual_list.tsx';
import {words} from '../../words/index.ts';
import {useIsWide} from '../changes/use_diff.ts';
import {FileView} from './file_view.tsx';
import {childUri, linkName, resolvedUri} from './paths.ts';
import {FileTree, type TreeRow, treeRows} from './tree.ts';
import './files.css';

// Pixels from which the tree stays beside the file.
const BOTH_FROM = 640;
const ROW_HEIGHT = 28;

// A tree stays as it was left while the page is open.
const trees = new WeakMap<Store, Map<string, FileTree>>();

function treeOf(store: Store, session: string): FileTree {
  const known = trees.get(store) ?? new Map<string, FileTree>();
  trees.set(store, known);
  const tree = known.get(session) ?? new FileTree(store);
  known.set(session, tree);
  return tree;
}

export function FilesPanel({session, chat}: ChatRef) {
  const store = useStore();
  const {state, gone} = useFollowed(() => store.session(session), [store, session]);
  const folders = state.value?.workingDirectories;
  const box = useRef<HTMLDivElement>(null);
  const hasBoth = useIsWide(box, BOTH_FROM);
  const tree = treeOf(store, session);
  // What an agent is at: when that changes, files may have.
  const activity = useComputed(() => (store.sessions.value.find(summary => summary.resource === session)?.status ?? 0) & ACTIVITY_MASK).value;
  const at = route.value;
  const here: SessionRoute = at.at === 'session' ? at : {at: 'session', session};
  const file = here.panel === 'files' && here.file !== undefined ? resolvedUri(here.file, folders) : undefined;
  const open = (uri: string): void => go({...here, panel: 'files', file: linkName(uri, folders), line: undefined});
  const close = (): void => go({...here, panel: 'files', file: undefined, line: undefined});
  const showFolder = (uri: string): void => {
    tree.reveal(childUri(uri, '.'), folders ?? []);
    if (!hasBoth) go({...here, file: undefined, line: undefined}, {replace: true});
  };
  if (!state.value && gone.value !== undefined) return <p class="files-note">{words.link.refused(visible(gone.value))}</p>;
  return (
    <div class={hasBoth ? 'files both' : 'files'} ref={box}>
      {!folders?.length && (state.value ? <p class="files-note">{words.workspace.files.noFolders}</p> : <Skeleton lines={5} />)}
      {folders && folders.length > 0 && (hasBoth || file === undefined) && <Tree tree={tree} roots={folders} shown={file} activity={activity} onOpen={open} />}
      {file !== undefined && <FileView key={file} {...{session, chat, folders, here, activity}} uri={file} line={here.line} onClose={hasBoth ? undefined : close} onFolder={() => showFolder(file)} />}
      {file === undefined && hasBoth && <p class="files-note">{words.workspace.files.pick}</p>}
    </div>
  );
}

interface TreeProps {
  readonly tree: FileTree;
  readonly roots: readonly string[];
  readonly shown: string | undefined;
  readonly activity: number;
  readonly onOpen: (uri: string) => void;
}

function Tree({tree, roots, shown, activity, onOpen}: TreeProps) {
  const state = tree.state.value;
  const names = roots.join('\n');
  useEffect(() => {
    for (const root of roots) tree.list(root);
  }, [tree, names]);
  useEffect(() => {
    if (shown !== undefined) tree.reveal(shown, roots);
  }, [tree, shown, names]);
  const listedAt = useRef(activity);
  useEffect(() => {
    if (listedAt.current !== activity) tree.refresh(roots);
    listedAt.current = activity;
  }, [tree, activity]);
  const rows = useMemo(() => treeRows(roots, state), [names, state]);
  return (
    <div class="files-tree">
      <header class="files-head">
        <span class="files-path">{words.shell.panels.files}</span>
        <Button kind="quiet" icon={RefreshCw} label={words.workspace.files.refresh} onClick={() => tree.refresh(roots)} />
      </header>
      <div class="files-rows" onKeyDown={moveInTree}>
        <VirtualList rows={rows} keyOf={row => row.key} estimate={ROW_HEIGHT} label={words.workspace.files.tree}
          renderRow={(row, index) => <TreeEntry row={row} tree={tree} isShown={'uri' in row && row.uri === shown} isFirst={index === 0} onOpen={onOpen} />} />
      </div>
    </div>
  );
}

function TreeEntry({row, tree, isShown, isFirst, onOpen}: {row: TreeRow; tree: FileTree; isShown: boolean; isFirst: boolean; onOpen: (uri: string) => void}) {
  const indent = {'--moving-depth': String(row.depth)};
  if (row.is === 'loading') return <p class="files-entry said" style={indent}>{words.workspace.files.loading}</p>;
  if (row.is === 'none') return <p class="files-entry said" style={indent}>{words.workspace.files.emptyFolder}</p>;
  if (row.is === 'failed') return <p class="files-entry said" style={indent} role="alert">{visible(row.text)}</p>;
  const isFolder = row.is === 'folder';
  return (
    <button type="button" class="files-entry" style={indent} tabIndex={isFirst || isShown ? 0 : -1} aria-expanded={isFolder ? row.isOpen : undefined} aria-current={isShown || undefined}
      data-depth={row.depth} onClick={() => (isFolder ? tree.toggle(row.uri) : onOpen(row.uri))}>
      {isFolder ? <Icon of={row.isOpen ? ChevronDown : ChevronRight} /> : <span class="files-no-arrow" />}
      <Icon of={isFolder ? Folder : File} />
      <span class="files-name">{visible(row.name)}</span>
    </button>
  );
}

/** Arrows walk in the tree: right opens, left closes or goes to the folder. */
function moveInTree(event: KeyboardEvent): void {
  const from = event.target as HTMLElement;
  if (!from.classList.contains('files-entry')) return;
  const all = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>('button.files-entry')];
  const index = all.indexOf(from);
  const expanded = from.getAttribute('aria-expanded');
  const depth = Number(from.dataset['depth']);
  const parent = all.slice(0, index).findLast(other => Number(other.dataset['depth']) < depth);
  let to: HTMLElement | undefined;
  if (event.key === 'ArrowDown') to = all[index + 1];
  else if (event.key === 'ArrowUp') to = all[index - 1];
  else if (event.key === 'ArrowRight' && expanded === 'true') to = all[index + 1];
  else if (event.key === 'ArrowLeft' && expanded !== 'true') to = parent;
  else if ((event.key === 'ArrowRight' && expanded === 'false') || (event.key === 'ArrowLeft' && expanded === 'true')) from.click();
  else return;
  event.preventDefault();
  to?.focus();
}
