/** How long something has been going on, by the second; without the host, how long it had been when last heard of. */
import {useSignal} from '@preact/signals';
import {useEffect} from 'preact/hooks';
import {useStore} from '../../store/index.ts';
import {duration} from '../../ui/time.ts';

// What takes less is not worth counting.
const LEAST = 2000;

export function Elapsed({since}: {since: string | number}) {
  const start = typeof since === 'number' ? since : Date.parse(since);
  const {live, since: heard} = useStore();
  const isLive = live.value === 'live';
  const now = useSignal(Date.now());
  useEffect(() => {
    if (!isLive) return undefined;
    now.value = Date.now();
    const timer = setInterval(() => void (now.value = Date.now()), 1000);
    return () => clearInterval(timer);
  }, [isLive]);
  // Clocks of two machines differ.
  const passed = Math.max(0, (isLive ? now.value : heard.value) - start);
  return Number.isFinite(passed) && passed >= LEAST ? <time class="chat-elapsed">{duration(passed)}</time> : null;
}
