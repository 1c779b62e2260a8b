/** Telling those who cannot see the page that something waits for them. */
import {useEffect} from 'preact/hooks';
import type {Store, Waiting} from '../store/index.ts';
import {announce} from '../ui/announce.tsx';
import {visible} from '../ui/safe.tsx';
import {words} from '../words/index.ts';
import {waitingTitle} from './waiting.ts';

const keyOf = (each: Waiting): string => `${each.chat} ${each.request.id}`;

/** Say what has come to wait since the page was opened, one line for the newest. */
export function useWaitingTold(store: Store): void {
  useEffect(() => {
    let known: ReadonlySet<string> | undefined;
    return store.waiting.subscribe(waiting => {
      const added = known && waiting.filter(each => !known?.has(keyOf(each)));
      known = new Set(waiting.map(keyOf));
      const newest = added?.at(-1);
      if (newest) announce(words.shell.waitingFor(visible(waitingTitle(newest))));
    });
  }, [store]);
}
