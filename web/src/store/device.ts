/** What this browser remembers by itself: the one file that may use localStorage. */

export type DeviceKey = 'token' | 'theme' | 'name' | 'panes' | 'keys';

const PREFIX = 'agenthost.';

/** What was remembered; undefined also where storage is forbidden. */
export function remembered(key: DeviceKey): string | undefined {
  try {
    return localStorage.getItem(PREFIX + key) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Remember a value, or forget it. */
export function remember(key: DeviceKey, value: string | undefined): void {
  try {
    if (value === undefined) localStorage.removeItem(PREFIX + key);
    else localStorage.setItem(PREFIX + key, value);
  } catch {
    // A browser that forbids storage asks anew at the next visit.
  }
}
