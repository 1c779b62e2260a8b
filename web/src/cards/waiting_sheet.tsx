/** A waiting thing in a sheet: answered there, and closed when that is done. */
import {X} from 'lucide';
import {useEffect, useRef} from 'preact/hooks';
import {Button} from '../ui/button.tsx';
import {callViewOf} from './call_views.tsx';
import type {ChatRef} from '../ui/registry.tsx';
import {Sheet} from '../ui/sheet.tsx';
import {words} from '../words/index.ts';
import {type Settled, settledOf} from './acts.ts';
import {Progress} from './card.tsx';
import {closeCard, openCard, openedCard} from './open_card.ts';
import {type Pending, pendingTitle} from './pending.ts';
import {RequestForm} from './questions/request.tsx';

export function WaitingSheet({at, pending}: {at: ChatRef; pending: readonly Pending[]}) {
  const open = openedCard.value;
  const shown = pending.find(each => each.chat === open?.chat && (open.id === undefined || each.id === open.id));
  useEffect(() => {
    if (shown && open?.id === undefined) openCard(shown.chat, shown.id);
  }, [shown]);
  const last = useRef<Pending | undefined>(undefined);
  if (shown) last.current = shown;
  const known = last.current;
  // Another chat's composer shows what is open in another session.
  if (!open || !known || known.chat !== open.chat || (open.id !== undefined && known.id !== open.id)) return null;
  return (
    <Sheet key={known.id} title={pendingTitle(known, words.cards.asks)} bare={shown !== undefined} class="cards-sheet" onClose={closeCard}>
      {shown && <Button kind="quiet" class="cards-sheet-close" icon={X} label={words.shell.close} onClick={closeCard} />}
      {shown ? <Waiting at={at} pending={shown} /> : <Gone settled={settledOf(known.chat, known.id).value} />}
    </Sheet>
  );
}

function Waiting({at, pending}: {at: ChatRef; pending: Pending}) {
  const ref = {session: at.session, chat: pending.chat, turn: pending.turn, index: pending.index};
  if (pending.kind === 'request') return <RequestForm request={pending.request} at={{...ref, request: pending.id}} />;
  return callViewOf(pending.call, {...ref, call: pending.id});
}

/** It waits no more: our own answer closes the sheet as soon as the host has taken it. */
function Gone({settled}: {settled: Settled}) {
  const phase = settled.own?.act.phase.value;
  const isDone = phase === 'done';
  useEffect(() => {
    if (isDone) closeCard();
  }, [isDone]);
  return (
    <div class="cards-gone">
      <Progress settled={settled.own ? settled : {elsewhere: true}} />
      <Button onClick={closeCard}>{words.shell.close}</Button>
    </div>
  );
}
