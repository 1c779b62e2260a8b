/** Choosing a folder by walking through those of the host. */
import '../forms/forms.css';
import './browse.css';
import {ArrowUp, Folder} from 'lucide';
import {useState} from 'preact/hooks';
import {Button} from '../ui/button.tsx';
import {Icon} from '../ui/icon.tsx';
import {visible} from '../ui/safe.tsx';
import {Sheet} from '../ui/sheet.tsx';
import {Skeleton} from '../ui/skeleton.tsx';
import {words} from '../words/index.ts';
import {childUri, crumbsOf, parentUri, pathOf, uriOf} from './paths.ts';
import {useFolder} from './use_folder.ts';

// Folders that are listed; among more nobody finds one by looking.
const MOST = 500;

export interface FolderPickerProps {
  /** Where to begin. */
  readonly from: string;
  readonly onPick: (uri: string) => void;
  readonly onClose: () => void;
}

export function FolderPicker({from, onPick, onClose}: FolderPickerProps) {
  const [at, setAt] = useState(from);
  const folder = useFolder(at);
  const isMissing = folder.phase === 'refused' && folder.isMissing;
  const use = (): void => {
    onPick(at);
    onClose();
  };
  return (
    <Sheet
      title={words.browse.title}
      onClose={onClose}
      class="browse-sheet"
      actions={
        <>
          <Button onClick={onClose}>{words.shell.cancel}</Button>
          <Button kind="primary" onClick={use} whyNot={isMissing ? words.browse.refused('') : undefined}>{words.browse.use}</Button>
        </>
      }
    >
      <PathField key={at} at={at} onGo={setAt} />
      <Way at={at} onGo={setAt} />
      <FolderList at={at} folder={folder} onGo={setAt} />
    </Sheet>
  );
}

function PathField({at, onGo}: {at: string; onGo(uri: string): void}) {
  const [typed, setTyped] = useState(pathOf(at));
  const [isWrong, setWrong] = useState(false);
  const goThere = (event: Event): void => {
    event.preventDefault();
    const uri = uriOf(typed);
    setWrong(uri === undefined);
    if (uri !== undefined) onGo(uri);
  };
  return (
    <form class="browse-path" onSubmit={goThere}>
      <input
        class="forms-input"
        aria-label={words.browse.path}
        aria-invalid={isWrong || undefined}
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        value={typed}
        onInput={event => setTyped(event.currentTarget.value)}
      />
      <Button submit>{words.browse.go}</Button>
      {isWrong && <p class="forms-problem">{words.browse.notAPath}</p>}
    </form>
  );
}

function Way({at, onGo}: {at: string; onGo(uri: string): void}) {
  const crumbs = crumbsOf(at);
  return (
    <nav class="browse-way" aria-label={words.browse.way}>
      {crumbs.map((crumb, index) => (
        <Button key={crumb.uri} kind="quiet" whyNot={index === crumbs.length - 1 ? '' : undefined} onClick={() => onGo(crumb.uri)}>
          {visible(crumb.name)}
        </Button>
      ))}
    </nav>
  );
}

function FolderList({at, folder, onGo}: {at: string; folder: ReturnType<typeof useFolder>; onGo(uri: string): void}) {
  const [showHidden, setShowHidden] = useState(false);
  if (folder.phase === 'loading') return <Skeleton lines={5} />;
  if (folder.phase === 'refused') {
    return (
      <div class="browse-refused">
        <p>{words.browse.refused(visible(folder.reason))}</p>
        {!folder.isMissing && <p>{words.browse.useAnyway}</p>}
      </div>
    );
  }
  const isHidden = (name: string): boolean => name.startsWith('.');
  const folders = folder.folders.filter(name => showHidden || !isHidden(name));
  const up = parentUri(at);
  return (
    <>
      <ul class="browse-list" aria-label={words.browse.folders}>
        {up !== undefined && (
          <li>
            <button type="button" class="browse-folder" onClick={() => onGo(up)}>
              <Icon of={ArrowUp} />
              {words.browse.up}
            </button>
          </li>
        )}
        {folders.slice(0, MOST).map(name => (
          <li key={name}>
            <button type="button" class="browse-folder" onClick={() => onGo(childUri(at, name))}>
              <Icon of={Folder} />
              {visible(name)}
            </button>
          </li>
        ))}
      </ul>
      <p class="browse-note">
        {!folders.length && words.browse.none} {folder.files > 0 && words.browse.files(folder.files)}
        {folders.length > MOST && words.browse.more(folders.length - MOST)}
      </p>
      {folder.folders.some(isHidden) && (
        <label class="forms-tick">
          <input type="checkbox" checked={showHidden} onChange={event => setShowHidden(event.currentTarget.checked)} />
          {words.browse.hidden}
        </label>
      )}
    </>
  );
}
