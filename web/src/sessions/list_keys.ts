/** The keys of the list: next, previous, search, archive. */
import {useEffect} from 'preact/hooks';
import {route} from '../route.ts';
import {useStore} from '../store/index.ts';
import {command} from '../ui/commands.ts';
import {words} from '../words/index.ts';
import {archive} from './row_menu.tsx';

/** Offer the keys while the list is shown. */
export function useListKeys(pane: {readonly current: HTMLElement | null}): void {
  const store = useStore();
  useEffect(() => {
    const texts = words.sessions.commands;
    const group = texts.group;
    const ends = [
      command({id: 'sessions.search', words: texts.search, group, keys: ['/'], run: () => pane.current?.querySelector<HTMLElement>('input')?.focus()}),
      command({id: 'sessions.next', words: texts.next, group, keys: ['j'], run: () => step(pane.current, 1)}),
      command({id: 'sessions.previous', words: texts.previous, group, keys: ['k'], run: () => step(pane.current, -1)}),
      command({
        id: 'sessions.archive',
        words: texts.archive,
        group,
        keys: ['e'],
        when: () => meant() !== undefined && store.live.peek() === 'live' && store.me.peek()?.role !== 'viewer',
        run: () => archive(store, meant()!, true),
      }),
    ];
    return () => ends.forEach(end => end());
  }, [store]);
}

/** The session whose row has the focus, else the one that is open. */
function meant(): string | undefined {
  const focused = document.activeElement?.closest<HTMLElement>('[data-session]')?.dataset['session'];
  const at = route.peek();
  return focused ?? (at.at === 'session' ? at.session : undefined);
}

function step(pane: HTMLElement | null, by: number): void {
  const links = [...(pane?.querySelectorAll<HTMLElement>('.sessions-link') ?? [])];
  const focused = links.indexOf(document.activeElement as HTMLElement);
  const from = focused >= 0 ? focused : links.findIndex(link => link.getAttribute('aria-current') === 'page');
  const next = from < 0 ? links[0] : links[Math.min(links.length - 1, Math.max(0, from + by))];
  next?.focus();
}
