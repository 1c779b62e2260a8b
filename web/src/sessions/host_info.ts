/** What the host said of itself when it was greeted. */
import type {ReadonlySignal} from '@preact/signals';
import type {InitializeResult} from '../ahp/index.ts';
import type {Store} from '../store/index.ts';

/** The host's own words; undefined until it is known. */
export const hostInfo = (store: Store): InitializeResult | undefined => (store as {host?: ReadonlySignal<InitializeResult | undefined>}).host?.value;
