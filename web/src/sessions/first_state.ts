/** Waiting for the state of a channel that is opened for one question. */
import {effect} from '@preact/signals';
import type {Followed} from '../store/index.ts';

/** The first state that is as wanted; rejects if the channel is gone. The channel is let go of in any case. */
export function firstState<S>(followed: Followed<S>, isWanted: (state: S) => boolean = () => true): Promise<S> {
  return new Promise((resolve, reject) => {
    let stop: (() => void) | undefined;
    let isOver = false;
    const end = (finish: () => void): void => {
      isOver = true;
      stop?.();
      followed.release();
      finish();
    };
    stop = effect(() => {
      const state = followed.state.value;
      const gone = followed.gone.value;
      const isLive = followed.phase.value === 'live';
      if (isOver) return;
      // Not inside of the effect: ending it releases the channel, which may change what it reads.
      if (gone !== undefined) queueMicrotask(() => isOver || end(() => reject(new Error(gone))));
      else if (isLive && state !== undefined && isWanted(state)) queueMicrotask(() => isOver || end(() => resolve(state)));
    });
  });
}
