/** Both sides of a changed file, read from the host and aligned. */
import type {FileEdit, FileEditSide} from '../../ahp/index.ts';
import type {Store} from '../../store/index.ts';
import {words} from '../../words/index.ts';
import {alignedTexts} from '../../workers/diff.ts';
import type {Aligned} from '../../workers/diff_rows.ts';
import {failureText} from '../failure.ts';
import {LARGEST_TEXT, contentOf} from '../files/content.ts';
import {nameOf} from '../files/paths.ts';
import {contentKey} from './catalogue.ts';

/** What can be shown of a file's change: aligned rows, or why there are none. */
export type Loaded = {readonly is: 'rows'; readonly aligned: Aligned} | {readonly is: 'said'; readonly text: string; readonly again: boolean};

type SideText = {readonly text: string} | {readonly said: string; readonly again: boolean};

// Sides that were read, the latest last; together at most some megabytes.
const read = new Map<string, SideText>();
const MOST_READ = 40;

/** Read both sides of an edit and align them; never throws. */
export async function loadEdit(store: Store, edit: FileEdit): Promise<Loaded> {
  const [before, after] = await Promise.all([sideText(store, edit.before), sideText(store, edit.after)]);
  if ('said' in before) return {is: 'said', text: before.said, again: before.again};
  if ('said' in after) return {is: 'said', text: after.said, again: after.again};
  return {is: 'rows', aligned: await alignedTexts(before.text, after.text)};
}

async function sideText(store: Store, side: FileEditSide | undefined): Promise<SideText> {
  if (!side) return {text: ''};
  const key = contentKey(side);
  const known = read.get(key);
  if (known) return known;
  if ((side.content.sizeHint ?? 0) > LARGEST_TEXT) return tooLarge;
  const found = await fetched(store, side);
  if (isKept(side, found)) keep(key, found);
  return found;
}

const tooLarge: SideText = {said: words.workspace.changes.tooLarge, again: false};

async function fetched(store: Store, side: FileEditSide): Promise<SideText> {
  try {
    const content = contentOf(nameOf(side.uri), await store.ask('resourceRead', {uri: side.content.uri, encoding: 'utf-8'}));
    if (content.is === 'text') return {text: content.text};
    return content.is === 'large' ? tooLarge : {said: words.workspace.changes.binary, again: false};
  } catch (error) {
    return {said: failureText(error), again: true};
  }
}

// A live file may change under the same name, unless something tells its versions apart.
const isKept = (side: FileEditSide, found: SideText): boolean =>
  (side.content.nonce !== undefined || !side.content.uri.startsWith('file:')) && ('text' in found || !found.again);

function keep(key: string, found: SideText): void {
  read.set(key, found);
  const oldest = read.keys().next().value;
  if (read.size > MOST_READ && oldest !== undefined) read.delete(oldest);
}
