/** Why something that the host was asked for did not happen, in words. */
import {LinkLost} from '../ahp/index.ts';
import {visible} from '../ui/safe.tsx';
import {words} from '../words/index.ts';

/** The reason alone. */
export const reasonOf = (error: unknown): string => visible(error instanceof Error && error.message ? error.message : String(error));

/** A sentence: the host refused, or nobody knows because the answer was lost. */
export const refusal = (error: unknown): string => (error instanceof LinkLost ? words.link.uncertain : words.link.refused(reasonOf(error)));
