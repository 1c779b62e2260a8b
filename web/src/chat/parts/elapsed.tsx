/** How long something has been going on, by the second. */
import {useSignal} from '@preact/signals';
import {useEffect} from 'preact/hooks';
import {duration} from '../../ui/time.ts';

// What takes less is not worth counting.
const LEAST = 2000;

export function Elapsed({since}: {since: string | number}) {
  const start = typeof since === 'number' ? since : Date.parse(since);
  const now = useSignal(Date.now());
  useEffect(() => {
    const timer = setInterval(() => void (now.value = Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  // Clocks of two machines differ.
  const passed = Math.max(0, now.value - start);
  return Number.isFinite(passed) && passed >= LEAST ? <time class="chat-elapsed">{duration(passed)}</time> : null;
}
