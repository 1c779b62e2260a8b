/** The session list as components see it: made anew with every change, but kept still while somebody is in it. */
import {type ReadonlySignal, computed, signal} from '@preact/signals';
import {useMemo, useRef} from 'preact/hooks';
import {type Store, useStore} from '../store/index.ts';
import {hidden} from './dispose.ts';
import {type Kept, keptAt, loose, steadied} from './freeze.ts';
import {type Section, type Shown, sections} from './list_model.ts';
import {muted} from './muted.ts';
import {ownChanges} from './own_changes.ts';
import {find} from './search.ts';

/** What is searched for, and which sessions are shown. One for the whole page: the pane may be closed and opened. */
export const query = signal('');
export const shown = signal<Shown>('current');

/** The sections as the host's state makes them. */
export function freshSections(store: Store, onlyWaiting: boolean): ReadonlySignal<readonly Section[]> {
  return computed(() => {
    const all = sections({
      sessions: store.sessions.value,
      waiting: store.waiting.value,
      shown: onlyWaiting ? 'current' : shown.value,
      found: onlyWaiting ? undefined : find(store.sessions.value, query.value),
      muted: muted.value,
      hidden: hidden.value,
    });
    return onlyWaiting ? all.filter(section => section.kind === 'needs') : all;
  });
}

/** What to show, and how to show the updates that are held back. */
export interface ListView extends Kept {
  showUpdates(): void;
}

/** The list to show; `inside` says whether somebody is in it now. */
export function useList(onlyWaiting: boolean, inside: ReadonlySignal<boolean>): ListView {
  const store = useStore();
  const fresh = useMemo(() => freshSections(store, onlyWaiting), [store, onlyWaiting]);
  const release = useMemo(() => signal(0), []);
  const last = useRef<{kept: Kept; of: string; own: number; fresh: readonly Section[]}>(undefined);
  const before = last.current;
  const now = fresh.value;
  // Another search or filter is another list.
  const of = JSON.stringify([query.value, shown.value, release.value]);
  const isKept = inside.value && before !== undefined && before.of === of && before.kept.sections.length > 0;
  const isOwn = before !== undefined && before.own !== ownChanges.value;
  const made = isKept && !(isOwn && before.fresh !== now) ? keptAt(before.kept.sections, now) : loose(now);
  const kept = before ? {...made, sections: steadied(before.kept.sections, made.sections)} : made;
  // An own change counts as shown once the list did change.
  const own = before === undefined || before.fresh !== now ? ownChanges.value : before.own;
  last.current = {kept, of, own, fresh: now};
  return {...kept, showUpdates: () => void (release.value += 1)};
}
