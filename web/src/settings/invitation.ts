/** The link with which a device gets access: the token is behind the `#`, which no server is told. Pure. */

/** The link to a page with a token; undefined where the address is none. */
export function invitation(address: string, secret: string): string | undefined {
  try {
    const url = new URL(address.includes('://') ? address : `http://${address}`);
    if (url.protocol !== 'http:' && url.protocol !== 'https:') return undefined;
    return `${url.origin}/#tkn=${encodeURIComponent(secret)}`;
  } catch {
    return undefined;
  }
}

/** Whether an address reaches only the machine that it is used on. */
export function isOnlyHere(address: string): boolean {
  try {
    const {hostname} = new URL(address.includes('://') ? address : `http://${address}`);
    return hostname === 'localhost' || hostname.endsWith('.localhost') || hostname === '[::1]' || hostname.startsWith('127.');
  } catch {
    return false;
  }
}

const DAY = 86_400_000;

/** When a token ends that is made now, as an ISO instant; undefined for never. */
export const endOf = (days: number | undefined, now: number): string | undefined => (days === undefined ? undefined : new Date(now + days * DAY).toISOString());
