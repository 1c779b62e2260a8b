/**
 * Takes the token out of the address bar, before anything else runs.
 *
 * A token in an address is seen over shoulders, kept in histories and copied with links.
 */
import {forgetClientId} from '../store/client_id.ts';
import {device} from '../store/device.ts';

/** The token in an address, and the address without it. */
export function tokenIn(url: URL): {token: string | undefined; clean: string} {
  const clean = new URL(url);
  const fragment = new URLSearchParams(url.hash.slice(1));
  const token = fragment.get('tkn') ?? clean.searchParams.get('tkn') ?? undefined;
  clean.searchParams.delete('tkn');
  if (fragment.has('tkn')) {
    fragment.delete('tkn');
    clean.hash = fragment.toString();
  }
  return {token: token?.trim() || undefined, clean: clean.pathname + clean.search + clean.hash};
}

/** Keep the token of the address bar, and take it out of there. */
export function takeToken(): void {
  const {token, clean} = tokenIn(new URL(location.href));
  if (clean !== location.pathname + location.search + location.hash) history.replaceState(history.state, '', clean);
  if (token !== undefined) keepToken(token);
}

/** Sign in with a token. */
export function keepToken(token: string): void {
  if (device.get('token') !== token) forgetClientId();
  device.set('token', token);
}
