/** Takes the access token out of the address, on import, and keeps it on this device. */
import {remember} from './device.ts';

const url = new URL(location.href);
const fragment = new URLSearchParams(url.hash.slice(1));
const token = fragment.get('tkn') ?? url.searchParams.get('tkn');
if (token) {
  url.hash = '';
  url.searchParams.delete('tkn');
  history.replaceState(null, '', url.pathname + url.search);
  remember('token', token);
}
