/** Waiting until the host has taken something. */
import {effect} from '@preact/signals';
import type {Act} from '../store/index.ts';

/** Run something once the host has taken an act; never if it does not. */
export function whenTaken(act: Act, run: () => void): void {
  let isOver = false;
  const stop = effect(() => {
    const phase = act.phase.value;
    if (phase === 'pending' || isOver) return;
    isOver = true;
    if (phase === 'done') run();
    // An effect cannot end itself while it begins.
    queueMicrotask(() => stop());
  });
}
