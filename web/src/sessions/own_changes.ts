/** Changes of the list that this window itself asks for: they show at once, also while the list is kept still. */
import {type ReadonlySignal, signal} from '@preact/signals';

const count = signal(0);

/** How many there were. */
export const ownChanges: ReadonlySignal<number> = count;

/** Say that the next change of the list is this window's own. */
export const letThrough = (): void => void (count.value += 1);
