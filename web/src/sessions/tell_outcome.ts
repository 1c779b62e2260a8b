/** Telling what became of something whose control is gone by then. */
import {effect} from '@preact/signals';
import type {Act} from '../store/index.ts';
import {outcomeText} from '../ui/outcome.tsx';
import {toast} from '../ui/toast.tsx';

/** Say at the page's edge why something failed; nothing if it went well. */
export function tellOutcome(act: Act): void {
  let stop: (() => void) | undefined;
  stop = effect(() => {
    const said = outcomeText(act.phase.value, act.text.value);
    if (said !== undefined) toast(said);
    if (act.phase.value !== 'pending') queueMicrotask(() => stop?.());
  });
}
