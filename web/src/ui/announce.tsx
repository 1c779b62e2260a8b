/** The page's one polite live region: a line per five seconds at most, the newest of those that waited. */
import {signal} from '@preact/signals';

/** Milliseconds between two lines. */
const PAUSE = 5000;

const line = signal('');
let next: string | undefined;
let isPausing = false;

/** Say a line to those who cannot see the page. */
export function announce(text: string): void {
  if (isPausing) {
    next = text;
    return;
  }
  line.value = text;
  isPausing = true;
  setTimeout(() => {
    isPausing = false;
    const waiting = next;
    next = undefined;
    if (waiting !== undefined) announce(waiting);
  }, PAUSE);
}

export function LiveRegion() {
  return <div class="hidden-text" role="status" aria-live="polite">{line}</div>;
}
