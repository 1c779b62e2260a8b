/** The changes that a call would make: a few rows of each file, and all of them on demand. */
import {useSignal} from '@preact/signals';
import type {FileEdit} from '../ahp/index.ts';
import {Button} from '../ui/button.tsx';
import {lazy} from '../ui/lazy.tsx';
import {visible} from '../ui/safe.tsx';
import {Sheet} from '../ui/sheet.tsx';
import {folderPart, pathOf} from '../workspace/files/paths.ts';
import {words} from '../words/index.ts';
import {type Text, useTexts} from './read_text.ts';

/** Rows of a diff in a card, and files in it. */
const ROWS = 20;
const FILES = 3;

const DiffView = lazy(() => import('../workspace/changes/diff_view.tsx').then(room => room.DiffView));

export function EditsPreview({edits}: {edits: readonly FileEdit[]}) {
  const isOpen = useSignal(false);
  const shown = isOpen.value ? edits : edits.slice(0, FILES);
  return (
    <section class="cards-edits" aria-label={words.cards.edits}>
      {shown.map((edit, index) => <EditPreview key={index} edit={edit} />)}
      {shown.length < edits.length && (
        <Button kind="quiet" onClick={() => void (isOpen.value = true)}>{words.cards.moreFiles(edits.length - shown.length)}</Button>
      )}
    </section>
  );
}

/** The last part of an address, as people read it. */
export function fileName(uri: string): string {
  const name = uri.replace(/[?#].*$/, '').split('/').findLast(Boolean) ?? uri;
  try {
    return visible(decodeURIComponent(name));
  } catch {
    return visible(name);
  }
}

function EditPreview({edit}: {edit: FileEdit}) {
  const texts = useTexts([edit.before?.content, edit.after?.content]).value;
  const isFull = useSignal(false);
  const uri = edit.after?.uri ?? edit.before?.uri ?? '';
  const name = fileName(uri);
  const bad = texts.find(text => text.state !== 'here');
  const [before, after] = bad ? [] : texts.map(text => (text as {text: string}).text);
  return (
    <div class="cards-edit">
      <header class="cards-edit-head">
        <strong title={visible(uri)}>{name}</strong>
        {/* The same name elsewhere is another file, and a touch screen shows no tooltips. */}
        <span class="cards-edit-folder">{visible(folderPart(pathOf(uri)))}</span>
        <span class="cards-note">{noteOf(edit)}</span>
        {edit.diff?.added !== undefined && <span class="cards-added">+{edit.diff.added}</span>}
        {edit.diff?.removed !== undefined && <span class="cards-removed">−{edit.diff.removed}</span>}
        {before !== undefined && after !== undefined && (
          <Button kind="quiet" class="cards-edit-open" popup="dialog" onClick={() => void (isFull.value = true)}>{words.cards.openFullDiff}</Button>
        )}
      </header>
      {bad && <p class="cards-note">{badText(bad)}</p>}
      {before !== undefined && after !== undefined && <DiffView before={before} after={after} limit={ROWS} />}
      {isFull.value && before !== undefined && after !== undefined && (
        <Sheet title={words.cards.fullDiff(name)} class="cards-full-diff" onClose={() => void (isFull.value = false)}>
          <DiffView before={before} after={after} />
        </Sheet>
      )}
    </div>
  );
}

function noteOf(edit: FileEdit): string | undefined {
  if (!edit.before) return words.cards.created;
  if (!edit.after) return words.cards.deleted;
  return edit.before.uri === edit.after.uri ? undefined : words.cards.renamed(fileName(edit.before.uri));
}

function badText(text: Text): string {
  switch (text.state) {
    case 'loading': return words.cards.diffLoading;
    case 'tooLarge': return words.cards.diffTooLarge;
    case 'binary': return words.cards.diffBinary;
    default: return words.cards.diffUnreadable;
  }
}
