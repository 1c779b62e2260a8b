/** Automations and runs in addresses: short where their URI allows it. */
import {decoded, encoded} from '../ahp/uris.ts';

const SHORT = /^[\w-]+$/;
/** The address of the form for a new automation. */
export const NEW = 'new';

const named = (scheme: string) => ({
  idOf(uri: string): string {
    const id = uri.startsWith(scheme) ? uri.slice(scheme.length) : '';
    return SHORT.test(id) && id !== NEW ? id : `~${encoded(uri)}`;
  },
  uriOf(id: string): string | undefined {
    if (id.startsWith('~')) return decoded(id.slice(1));
    return SHORT.test(id) ? scheme + id : undefined;
  },
});

export const automationName = named('ahp-automation:/');
export const runName = named('ahp-automation-run:/');
