/** How wide the page is, in the three steps that its layout has. */
import {type ReadonlySignal, signal} from '@preact/signals';

export type Width = 'phone' | 'middle' | 'wide';

const phone = globalThis.matchMedia?.('(max-width: 699.98px)');
const wide = globalThis.matchMedia?.('(min-width: 1100px)');
const now = (): Width => (phone?.matches ? 'phone' : wide?.matches ?? true ? 'wide' : 'middle');

const current = signal<Width>(now());
for (const query of [phone, wide]) query?.addEventListener?.('change', () => void (current.value = now()));

/** Phone below 700 px, middle below 1100, else wide. */
export const width: ReadonlySignal<Width> = current;
