/** A changed file's line in the panel: opens its diff, ticks it off, and has the rest in a menu. */
import {ChevronDown, ChevronRight, Copy, Ellipsis, FileText, MessageSquarePlus} from 'lucide';
import {useRef, useState} from 'preact/hooks';
import type {ChangesetFile, ChangesetOperation} from '../../ahp/index.ts';
import {go, type SessionRoute} from '../../route.ts';
import type {Act} from '../../store/index.ts';
import {Button} from '../../ui/button.tsx';
import {copy} from '../../ui/copy.ts';
import {Icon} from '../../ui/icon.tsx';
import {useWhyNot} from '../../ui/may_act.ts';
import {Menu, type MenuItem} from '../../ui/popover.tsx';
import {visible} from '../../ui/safe.tsx';
import {words} from '../../words/index.ts';
import {folderPart, linkName, nameOf, pathOf, shortPath} from '../files/paths.ts';
import {changeOf, operationsFor, uriOf} from './catalogue.ts';
import {type Operations, whyNotNow} from './operations.tsx';

export interface FileRowProps {
  readonly file: ChangesetFile;
  readonly isOpen: boolean;
  readonly notes: number;
  readonly folders: readonly string[] | undefined;
  readonly here: SessionRoute;
  readonly offered: readonly ChangesetOperation[] | undefined;
  readonly operations: Operations;
  readonly onToggle: () => void;
  readonly onNote: () => void;
  /** Without it the changes are not for review. */
  readonly onReview?: ((reviewed: boolean) => Act) | undefined;
}

export function FileRow(props: FileRowProps) {
  const {file, isOpen, notes, folders, onToggle} = props;
  const said = words.workspace.changes;
  const path = visible(shortPath(uriOf(file), folders));
  const kind = changeOf(file);
  const from = kind === 'renamed' && file.edit.before ? said.movedFrom(visible(shortPath(file.edit.before.uri, folders))) : said.kinds[kind];
  return (
    <div class={isOpen ? 'changes-file open' : 'changes-file'}>
      <button type="button" class="changes-file-name" aria-expanded={isOpen} onClick={onToggle} title={path}>
        <Icon of={isOpen ? ChevronDown : ChevronRight} />
        <span class="changes-path"><bdi><span class="changes-folder">{folderPart(path)}</span>{path.slice(folderPart(path).length)}</bdi></span>
        {from && <span class="changes-kind">{from}</span>}
        {notes > 0 && <span class="changes-kind">{said.notes(notes)}</span>}
      </button>
      <Counts added={file.edit.diff?.added} removed={file.edit.diff?.removed} />
      <ReviewTick {...props} path={path} />
      <FileMenu {...props} path={path} />
    </div>
  );
}

/** Lines added and removed, as far as they are known. */
export function Counts({added, removed}: {added: number | undefined; removed: number | undefined}) {
  const said = words.workspace.changes;
  return (
    <span class="changes-counts">
      {added !== undefined && <span class="changes-added" aria-label={said.added(added)}>+{added}</span>}
      {removed !== undefined && <span class="changes-removed" aria-label={said.removed(removed)}>−{removed}</span>}
    </span>
  );
}

function ReviewTick({file, path, onReview}: FileRowProps & {path: string}) {
  const whyNot = useWhyNot();
  const [sent, setSent] = useState<{act: Act; reviewed: boolean}>();
  if (!onReview) return null;
  // The state follows with the next frame; until then the tick is what was pressed.
  const isTicked = sent?.act.phase.value === 'pending' ? sent.reviewed : file.reviewed ?? false;
  const change = (event: Event): void => {
    const box = event.currentTarget as HTMLInputElement;
    if (whyNot === undefined) setSent({act: onReview(box.checked), reviewed: box.checked});
    else box.checked = isTicked;
  };
  return (
    <label class="changes-tick" title={whyNot ?? words.workspace.changes.reviewed}>
      <input type="checkbox" checked={isTicked} aria-disabled={whyNot !== undefined || undefined} aria-label={words.workspace.changes.reviewFile(path)} onChange={change} />
    </label>
  );
}

function FileMenu({file, folders, here, offered, operations, onNote, path}: FileRowProps & {path: string}) {
  const said = words.workspace.changes;
  const whyNot = useWhyNot();
  const anchor = useRef<HTMLButtonElement>(null);
  const [isShown, setShown] = useState(false);
  const uri = uriOf(file);
  const items: MenuItem[] = [
    ...(file.edit.after ? [{id: 'open', words: said.openFile, icon: FileText, run: () => go({...here, panel: 'files', file: linkName(uri, folders), line: undefined})}] : []),
    {id: 'note', words: said.noteOnFile, icon: MessageSquarePlus, whyNot, run: onNote},
    {id: 'copy', words: said.copyPath, icon: Copy, run: () => void copy(pathOf(uri))},
    ...operationsFor(offered, 'resource').map(operation => ({
      id: `do ${operation.id}`,
      words: visible(operation.label),
      isDanger: operation.confirmation !== undefined,
      whyNot: whyNot ?? whyNotNow(operation),
      run: () => operations.start(operation, file),
    })),
  ];
  return (
    <>
      <Button kind="quiet" icon={Ellipsis} label={said.more(visible(nameOf(uri)))} popup="menu" expanded={isShown} buttonRef={anchor} onClick={() => setShown(!isShown)} />
      {isShown && <Menu anchor={anchor} label={said.more(path)} items={items} placement="bottom-end" onClose={() => setShown(false)} />}
    </>
  );
}
