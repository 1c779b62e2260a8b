/** A list that the host is asked for, and asked for again after each change. */
import {useCallback, useEffect, useState} from 'preact/hooks';
import {refusal} from '../sessions/refusal.ts';
import {type Store, useStore} from '../store/index.ts';

export interface Asked<T> {
  /** The last answer. */
  readonly answer: T | undefined;
  /** Why the last thing asked for was refused. */
  readonly problem: string | undefined;
  /** Ask for something that changes the answer, then for the answer. */
  change(change: (store: Store) => Promise<unknown>): void;
}

/** Ask when shown and whenever the connection is back; not at all where it is not `wanted`. */
export function useAsked<T>(ask: (store: Store) => Promise<T>, wanted: boolean): Asked<T> {
  const store = useStore();
  const isLive = store.live.value === 'live';
  const [answer, setAnswer] = useState<T>();
  const [problem, setProblem] = useState<string>();
  const tell = useCallback((error: unknown) => setProblem(refusal(error)), []);
  const refresh = useCallback(() => ask(store).then(setAnswer, tell), [store]);
  useEffect(() => {
    if (isLive && wanted) void refresh();
  }, [isLive, wanted, refresh]);
  const change = (run: (store: Store) => Promise<unknown>): void => {
    setProblem(undefined);
    run(store).catch(tell).finally(() => void refresh());
  };
  return {answer, problem, change};
}
