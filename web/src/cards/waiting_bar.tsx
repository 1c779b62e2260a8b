/** What waits, over the composer: on a phone for this chat, everywhere for the session's others. It opens the card in a sheet. */
import {type ReadonlySignal, effect, useComputed} from '@preact/signals';
import {ChevronUp, Diamond} from 'lucide';
import {useEffect, useRef} from 'preact/hooks';
import type {ChatState, SessionState} from '../ahp/index.ts';
import {Icon} from '../ui/icon.tsx';
import type {ChatRef} from '../ui/registry.tsx';
import {visible} from '../ui/safe.tsx';
import {width} from '../ui/width.ts';
import {words} from '../words/index.ts';
import {noteAnswered, noteAsked} from './acts.ts';
import './cards.css';
import {openCard} from './open_card.ts';
import {type Pending, pendingElsewhere, pendingIn, pendingTitle} from './pending.ts';
import {WaitingSheet} from './waiting_sheet.tsx';

export interface WaitingBarProps {
  readonly at: ChatRef;
  readonly chat: ReadonlySignal<ChatState | undefined>;
  readonly session: ReadonlySignal<SessionState | undefined>;
}

const titleOfPending = (pending: Pending): string => visible(pendingTitle(pending, words.cards.asks));

export function WaitingBar({at, chat, session}: WaitingBarProps) {
  const here = useKept(() => pendingIn(at.chat, chat.value));
  const others = useKept(() => pendingElsewhere(at.chat, session.value));
  useWatch(at.chat, chat, here);
  const shown = width.value === 'phone' ? [...here.value, ...others.value] : others.value;
  const first = shown[0];
  return (
    <>
      {first && (
        <button type="button" class="cards-bar" aria-haspopup="dialog" onClick={() => openCard(first.chat, first.id)}>
          <Icon of={Diamond} />
          <span class="cards-bar-text">
            {first.place === undefined ? words.cards.waiting(titleOfPending(first)) : words.cards.waitingIn(visible(first.place), titleOfPending(first))}
          </span>
          {shown.length > 1 && <span>{words.cards.moreWaiting(shown.length - 1)}</span>}
          <Icon of={ChevronUp} />
        </button>
      )}
      <WaitingSheet at={at} pending={[...here.value, ...others.value]} />
    </>
  );
}

/** A list that stays the same object while its members do, so that streamed text draws nothing here. */
function useKept(list: () => readonly Pending[]): ReadonlySignal<readonly Pending[]> {
  const last = useRef<readonly Pending[]>([]);
  return useComputed(() => {
    const now = list();
    const before = last.current;
    const isSame = now.length === before.length && now.every((each, index) => thingOf(each) === thingOf(before[index]!));
    return isSame ? before : (last.current = now);
  });
}

const thingOf = (pending: Pending): unknown => (pending.kind === 'call' ? pending.call : pending.request);

/** Notice what is answered elsewhere; what ended with its turn was not answered at all. */
function useWatch(uri: string, chat: ReadonlySignal<ChatState | undefined>, here: ReadonlySignal<readonly Pending[]>): void {
  useEffect(() => {
    let before = here.peek();
    return effect(() => {
      const now = here.value;
      const running = chat.peek()?.activeTurn?.id;
      const has = (list: readonly Pending[], id: string): boolean => list.some(each => each.id === id);
      for (const gone of before) if (gone.turn === running && !has(now, gone.id)) noteAnswered(uri, gone.id);
      for (const added of now) if (!has(before, added.id)) noteAsked(uri, added.id);
      before = now;
    });
  }, [uri, chat, here]);
}
