/**
 * Takes the access token out of the address, on import, and keeps it on this device.
 *
 * A token in an address is seen over shoulders, kept in histories and copied with links.
 */
import {keepToken} from './sign_in.ts';
import {tokenIn} from './token_in.ts';

const {token, clean} = tokenIn(new URL(location.href));
if (clean !== location.pathname + location.search + location.hash) history.replaceState(history.state, '', clean);
if (token !== undefined) keepToken(token);
