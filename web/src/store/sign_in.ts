/** Signing in with a token. */
import {forgetClientId} from './client_id.ts';
import {remember, remembered} from './device.ts';
import {tokenIn} from './token_in.ts';

/** Keep a token on this device. */
export function keepToken(token: string): void {
  if (remembered('token') === token) return;
  // Who we are is told by the host, and an id of ours belongs to whoever used it first.
  remember('me', undefined);
  forgetClientId();
  remember('token', token);
}

/** Sign in with what a person pasted: a token, or an address that holds one. */
export function signIn(pasted: string): void {
  const text = pasted.trim();
  if (!text) return;
  keepToken((URL.canParse(text) ? tokenIn(new URL(text)).token : undefined) ?? text);
  location.reload();
}
