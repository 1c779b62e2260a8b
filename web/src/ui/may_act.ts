/** Whether this person can change anything now. */
import {useStore} from '../store/index.ts';
import {words} from '../words/index.ts';

/** Why nothing can be done now, in words; undefined if it can. Reading it subscribes to it. */
export function useWhyNot(): string | undefined {
  const store = useStore();
  if (store.live.value !== 'live') return words.link.disconnected;
  return store.me.value?.role === 'viewer' ? words.link.viewer : undefined;
}
