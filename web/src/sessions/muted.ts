/** Sessions that this device does not notify about. */
import {type ReadonlySignal, signal} from '@preact/signals';
import {remember, remembered} from '../store/device.ts';

const KEY = 'muted';
// More would be sessions that nobody remembers.
const MOST = 500;

const uris = signal<ReadonlySet<string>>(read());

/** The muted sessions' URIs. */
export const muted: ReadonlySignal<ReadonlySet<string>> = uris;

/** Mute a session on this device, or no longer. */
export function mute(session: string, isMuted: boolean): void {
  const others = [...uris.peek()].filter(other => other !== session);
  uris.value = new Set(isMuted ? [...others, session].slice(-MOST) : others);
  remember(KEY, uris.value.size ? JSON.stringify([...uris.value]) : undefined);
}

function read(): ReadonlySet<string> {
  try {
    const found: unknown = JSON.parse(remembered(KEY) ?? '[]');
    return new Set(Array.isArray(found) ? found.filter(uri => typeof uri === 'string') : []);
  } catch {
    return new Set();
  }
}
