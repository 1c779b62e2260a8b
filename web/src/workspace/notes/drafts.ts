/** Notes that are being written: kept by their place, for a row that is scrolled away is taken down. */
import type {Act} from '../../store/index.ts';
import {outcomeText} from '../../ui/outcome.tsx';
import {toast} from '../../ui/toast.tsx';

const texts = new Map<string, string>();

/** What was written so far at a place. */
export const draftAt = (place: string): string => texts.get(place) ?? '';

/** Keep what is written at a place; nothing forgets it. */
export function keepDraft(place: string, text: string): void {
  if (text) texts.set(place, text);
  else texts.delete(place);
}

/** Keep what was sent, and say so, unless the host took it: the field it was written in has gone by then. */
export function keepUnlessTaken(act: Act, place: string, text: string): void {
  const end = act.phase.subscribe(phase => {
    if (phase === 'pending') return;
    // Not before the subscription has been made.
    queueMicrotask(() => end());
    const why = outcomeText(phase, act.text.peek());
    if (why === undefined) return;
    if (phase !== 'uncertain' && !draftAt(place)) keepDraft(place, text);
    toast(why);
  });
}
