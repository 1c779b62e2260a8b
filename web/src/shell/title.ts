/** The window's title: what waits, where we are. */
import {effect} from '@preact/signals';
import {useEffect} from 'preact/hooks';
import {route} from '../route.ts';
import type {Store} from '../store/index.ts';
import {words} from '../words/index.ts';

const PLACES = {
  list: words.shell.sessions,
  new: words.shell.newSession,
  automations: words.shell.automations,
  settings: words.shell.settings,
  inspect: words.shell.inspector,
} as const;

/** Characters of a session's title in the window's. */
const MOST = 80;

/** The title for a place, with how many things wait. */
export function titleOf(place: string, waiting: number): string {
  return `${waiting ? `(${waiting}) ` : ''}${place ? `${place.slice(0, MOST)} · ` : ''}${words.shell.name}`;
}

export function useTitle(store: Store): void {
  useEffect(() => effect(() => {
    const at = route.value;
    const place = at.at === 'session' ? store.sessions.value.find(each => each.resource === at.session)?.title ?? '' : PLACES[at.at];
    document.title = titleOf(place, store.waiting.value.length);
  }), [store]);
}
