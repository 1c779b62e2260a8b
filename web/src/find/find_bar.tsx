/** The bar that finds text in a chat: what is folded opens, what is older is loaded when asked for. */
import './find.css';
import {useComputed, useSignal} from '@preact/signals';
import {ArrowDown, ArrowUp, History, X} from 'lucide';
import {useEffect, useRef} from 'preact/hooks';
import type {Row} from '../chat/rows.ts';
import type {TranscriptModel} from '../chat/transcript.tsx';
import {Button} from '../ui/button.tsx';
import type {ListHandle} from '../ui/virtual_list.tsx';
import {words} from '../words/index.ts';
import {mark, rangesOf, unmark} from './mark.ts';
import {type Hit, MOST_HITS, findIn} from './search.ts';

export interface FindBarProps {
  readonly model: TranscriptModel;
  readonly list: ListHandle;
  readonly onClose: () => void;
}

/** Pixels at the top that this bar covers. */
const HEAD = 48;

/** Pages of older turns that one press searches. */
const PAGES = 20;

export function FindBar({model, list, onClose}: FindBarProps) {
  const query = useSignal('');
  const at = useSignal(0);
  const isSearching = useSignal(false);
  const field = useRef<HTMLInputElement>(null);
  // Text that streams does not search everything anew; the end of its turn does.
  const turns = useComputed(() => model.followed.state.value?.turns);
  const hits = useComputed(() => {
    void turns.value;
    const chat = model.followed.state.peek();
    return chat && query.value.trim() ? findIn(chat, query.value.trim()) : [];
  });
  useEffect(() => {
    field.current?.focus();
    return unmark;
  }, []);
  useMarks(list, query.value.trim());
  const go = (step: number): void => {
    const count = hits.value.length;
    if (!count) return;
    at.value = (at.value + step + count) % count;
    show(model, list, hits.value[at.value], query.value.trim());
  };
  const typed = (text: string): void => {
    query.value = text;
    // From the newest on, which is what people look at.
    at.value = Math.max(0, hits.value.length - 1);
    show(model, list, hits.value[at.value], query.value.trim());
  };
  const older = async (): Promise<void> => {
    isSearching.value = true;
    const before = hits.value.length;
    for (let page = 0; page < PAGES && hits.value.length === before; page++) if (!(await model.load())) break;
    isSearching.value = false;
    const added = hits.value.length - before;
    if (added > 0) {
      at.value = added - 1;
      show(model, list, hits.value[at.value], query.value.trim());
    }
  };
  const key = (event: KeyboardEvent): void => {
    if (event.key === 'Escape') onClose();
    else if (event.key === 'Enter') go(event.shiftKey ? 1 : -1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const count = hits.value.length;
  const told = !query.value.trim() ? '' : count ? words.find.at(at.value + 1, count, count >= MOST_HITS) : words.find.none;
  return (
    <search class="find" aria-label={words.find.title}>
      <input ref={field} type="search" value={query.value} placeholder={words.find.placeholder} aria-label={words.find.title} onInput={event => typed(event.currentTarget.value)} onKeyDown={key} />
      <output class="find-count">{isSearching.value ? words.find.searching : told}</output>
      <Button kind="quiet" icon={ArrowUp} label={words.find.previous} onClick={() => go(-1)} />
      <Button kind="quiet" icon={ArrowDown} label={words.find.next} onClick={() => go(1)} />
      {model.followed.mayLoad.value && (
        <Button kind="quiet" icon={History} class="find-older" whyNot={isSearching.value ? words.find.searching : undefined} onClick={() => void older()}>{words.find.older}</Button>
      )}
      <Button kind="quiet" icon={X} label={words.find.close} onClick={onClose} />
    </search>
  );
}

// Counts what was gone to: of several in a hurry, as with every key that is typed, the last one counts.
let shows = 0;

/** Open what hides a hit, and bring its row into view. */
function show(model: TranscriptModel, list: ListHandle, hit: Hit | undefined, query: string): void {
  if (!hit) return;
  if (hit.fold) model.folds.openRows(hit.fold);
  for (const key of hit.inside) model.folds.of(key).value = true;
  const key = sectionOf(model.rows.peek() ?? [], hit, query);
  const own = ++shows;
  void model.goTo(list, key, 'center').then(() => own === shows && reveal(list, key, hit.nth, query));
}

/** Scroll to the hit itself, where its row is higher than the screen. */
function reveal(list: ListHandle, key: string, nth: number, query: string): void {
  const box = list.element;
  const row = [...(box?.querySelectorAll<HTMLElement>('[data-key]') ?? [])].find(each => each.dataset['key'] === key);
  if (!box || !row) return;
  const ranges = rangesOf(row, query.toLowerCase());
  const [hit, frame] = [(ranges[nth] ?? ranges.at(-1))?.getBoundingClientRect(), box.getBoundingClientRect()];
  if (hit && (hit.top < frame.top + HEAD || hit.bottom > frame.bottom)) box.scrollTop += hit.top - frame.top - frame.height / 2;
}

/** The row in which a hit is, of the rows that its text has. */
export function sectionOf(rows: readonly Row[], hit: Hit, query: string): string {
  const parts = rows.filter(row => row.kind === 'text' && (row.key === hit.row || row.key.startsWith(`${hit.row}#`)));
  if (parts.length < 2) return hit.row;
  let left = hit.nth;
  for (const row of parts) {
    if (row.kind !== 'text' || !row.stream) continue;
    const blocks = [...row.stream.section(row.section), ...(row.isLast ? row.stream.open : [])];
    const has = blocks.reduce((sum, block) => sum + block.raw.toLowerCase().split(query.toLowerCase()).length - 1, 0);
    if (left < has) return row.key;
    left -= has;
  }
  return parts.at(-1)?.key ?? hit.row;
}

/** Keep what is in view marked, as rows come and go. */
function useMarks(list: ListHandle, query: string): void {
  useEffect(() => {
    const box = list.element;
    if (!box || !query) {
      unmark();
      return undefined;
    }
    let frame = 0;
    const again = (): void => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() => mark(box, query));
    };
    again();
    const observer = new MutationObserver(again);
    observer.observe(box, {childList: true, subtree: true, characterData: true});
    return () => {
      observer.disconnect();
      cancelAnimationFrame(frame);
    };
  }, [list, query]);
}
