/** The list of sessions: what needs somebody first, then by project. */
import './sessions.css';
import {useSignal} from '@preact/signals';
import {Plus} from 'lucide';
import {useEffect, useRef, useState} from 'preact/hooks';
import {go, route} from '../route.ts';
import {type Live, useStore} from '../store/index.ts';
import {Button} from '../ui/button.tsx';
import {ErrorBoundary} from '../ui/error_boundary.tsx';
import {visible} from '../ui/safe.tsx';
import {Skeleton} from '../ui/skeleton.tsx';
import {words} from '../words/index.ts';
import type {KeptSection} from './freeze.ts';
import {useListKeys} from './list_keys.ts';
import type {Shown} from './list_model.ts';
import {SessionRow} from './row.tsx';
import {query, shown, useList} from './use_list.ts';

// Rows of one project that are drawn before somebody asks for the rest.
const MOST_ROWS = 50;

export interface SessionListPaneProps {
  /** Whether only what waits is shown, as on the phone's first tab. */
  readonly onlyWaiting?: boolean | undefined;
}

export function SessionListPane({onlyWaiting = false}: SessionListPaneProps) {
  const inside = useSignal(false);
  const pane = useRef<HTMLDivElement>(null);
  const list = useList(onlyWaiting, inside);
  useListKeys(pane);
  const look = useInside(pane, isInside => void (inside.value = isInside));
  const at = route.value;
  const current = at.at === 'session' ? at.session : undefined;
  return (
    <div class={onlyWaiting ? 'sessions-pane only-waiting' : 'sessions-pane'} ref={pane}>
      {!onlyWaiting && <Finder />}
      <div class="sessions-room" {...look}>
        <div class="sessions-list">
          {list.sections.map(section => <ListSection key={section.key} section={section} current={current} />)}
          {!list.sections.length && <Nothing onlyWaiting={onlyWaiting} />}
        </div>
        {list.updates > 0 && <Updates count={list.updates} needing={list.needing} onShow={list.showUpdates} />}
      </div>
    </div>
  );
}

/** Lies over a heading, where nothing can be pressed: were it in the list, it would move what is. */
function Updates({count, needing, onShow}: {count: number; needing: number; onShow(): void}) {
  return (
    <div class={needing ? 'sessions-updates needs' : 'sessions-updates'}>
      <Button onClick={onShow}>
        {needing ? words.sessions.needing(needing) : words.sessions.updates(count)}
        <span class="hidden-text">: {words.sessions.showUpdates}</span>
      </Button>
    </div>
  );
}

/** Tells whether the pointer or the keyboard's focus is in a box. */
function useInside(box: {readonly current: HTMLElement | null}, tell: (isInside: boolean) => void) {
  const pointer = useRef(false);
  const focus = useRef(false);
  const say = (): void => tell(pointer.current || focus.current);
  // A row that is taken away under the focus tells nobody that the focus has left.
  useEffect(() => {
    if (!focus.current || box.current?.contains(document.activeElement)) return;
    focus.current = false;
    say();
  });
  // Nor does a menu that closes under the pointer tell that the pointer has left.
  useEffect(() => {
    const look = (event: PointerEvent): void => {
      if (!pointer.current || box.current?.contains(event.target as Node)) return;
      pointer.current = false;
      say();
    };
    document.addEventListener('pointerover', look);
    return () => document.removeEventListener('pointerover', look);
  }, []);
  return {
    onPointerEnter: () => {
      pointer.current = true;
      say();
    },
    onPointerLeave: () => {
      pointer.current = false;
      say();
    },
    // The focus that a click leaves behind is nobody's place in the list.
    onFocusIn: (event: FocusEvent) => {
      focus.current = (event.target as HTMLElement).matches(':focus-visible');
      say();
    },
    onFocusOut: () => {
      focus.current = false;
      say();
    },
  };
}

const FILTERS: readonly Shown[] = ['current', 'unread', 'archived'];

function Finder() {
  return (
    <div class="sessions-finder">
      <input
        class="sessions-search"
        type="search"
        aria-label={words.sessions.search}
        placeholder={words.sessions.search}
        value={query.value}
        onInput={event => void (query.value = event.currentTarget.value)}
      />
      <select class="sessions-filter" aria-label={words.sessions.filter} value={shown.value} onChange={event => void (shown.value = event.currentTarget.value as Shown)}>
        {FILTERS.map(filter => <option key={filter} value={filter}>{words.sessions.shown[filter]}</option>)}
      </select>
    </div>
  );
}

function ListSection({section, current}: {section: KeptSection; current: string | undefined}) {
  const [all, setAll] = useState(false);
  const rows = all || section.kind === 'needs' ? section.rows : section.rows.slice(0, MOST_ROWS);
  const title = section.kind === 'needs' ? words.sessions.needsYou : visible(section.title) || words.sessions.noProject;
  return (
    <section class={`sessions-section ${section.kind}`} aria-label={title}>
      <h2 class="sessions-heading">
        {title}
        {section.kind === 'needs' && <span class="sessions-count">{section.rows.length}</span>}
      </h2>
      <ul>
        {rows.map(row => (
          <ErrorBoundary key={row.uri} of={row}>
            <SessionRow row={row} current={row.uri === current} />
          </ErrorBoundary>
        ))}
      </ul>
      {rows.length < section.rows.length && (
        <Button kind="quiet" onClick={() => setAll(true)}>{words.sessions.showMore(section.rows.length - rows.length)}</Button>
      )}
    </section>
  );
}

/** States of the connection in which the list is still to come. */
const COMING: ReadonlySet<Live> = new Set(['connecting', 'live', 'reconnecting']);

function Nothing({onlyWaiting}: {onlyWaiting: boolean}) {
  const store = useStore();
  // The bar over the room says why it is not known what there is.
  if (!store.listed.value) return COMING.has(store.live.value) ? <Skeleton lines={6} /> : null;
  if (onlyWaiting) return <p class="sessions-nothing">{words.sessions.nothingWaits}</p>;
  if (query.value.trim()) return <p class="sessions-nothing">{words.sessions.nothingFound}</p>;
  if (shown.value === 'unread') return <p class="sessions-nothing">{words.sessions.nothingUnread}</p>;
  if (shown.value === 'archived') return <p class="sessions-nothing">{words.sessions.nothingArchived}</p>;
  return (
    <div class="sessions-nothing">
      <p>{words.sessions.empty}</p>
      <Button kind="primary" icon={Plus} onClick={() => go({at: 'new'})}>{words.sessions.newSession}</Button>
    </div>
  );
}
