/**
 * What this browser remembers by itself: the one file that may use localStorage.
 *
 * A browser that forbids storage remembers for as long as the page lives.
 */

export type DeviceKey = 'token' | 'me' | 'theme' | 'name' | 'panes' | 'keys' | 'notify' | 'muted' | (string & {});

const PREFIX = 'agenthost.';
const memory = new Map<DeviceKey, string>();

/** What was remembered. */
export function remembered(key: DeviceKey): string | undefined {
  try {
    return localStorage.getItem(PREFIX + key) ?? undefined;
  } catch {
    return memory.get(key);
  }
}

/** Remember a value, or forget it. */
export function remember(key: DeviceKey, value: string | undefined): void {
  if (value === undefined) memory.delete(key);
  else memory.set(key, value);
  try {
    if (value === undefined) localStorage.removeItem(PREFIX + key);
    else localStorage.setItem(PREFIX + key, value);
  } catch {
    // It is remembered in memory then.
  }
}

/** A value that was remembered as JSON; undefined when there is none that can be read. */
export function rememberedJson(key: DeviceKey): unknown {
  try {
    return JSON.parse(remembered(key) ?? 'null') ?? undefined;
  } catch {
    return undefined;
  }
}

/** Forget everything. */
export function forgetDevice(): void {
  memory.clear();
  try {
    for (const key of Object.keys(localStorage)) if (key.startsWith(PREFIX)) localStorage.removeItem(key);
    for (const key of Object.keys(sessionStorage)) if (key.startsWith(PREFIX)) sessionStorage.removeItem(key);
  } catch {
    // Nothing was kept then.
  }
}
