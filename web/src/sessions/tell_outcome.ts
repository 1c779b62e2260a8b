/** Telling what became of something whose control is gone by then. */
import {effect} from '@preact/signals';
import type {Act} from '../store/index.ts';
import {outcomeText} from '../ui/outcome.tsx';
import {toast} from '../ui/toast.tsx';

/** Say at the page's edge why something failed; where it went well, `onDone` is called instead. */
export function tellOutcome(act: Act, onDone?: () => void): void {
  let stop: (() => void) | undefined;
  stop = effect(() => {
    const phase = act.phase.value;
    const said = outcomeText(phase, act.text.value);
    if (phase === 'pending') return;
    queueMicrotask(() => {
      stop?.();
      if (said !== undefined) toast(said);
      else onDone?.();
    });
  });
}
