/** What somebody has filled in to start a session: kept on this device until it is started. */
import {type ReadonlySignal, signal} from '@preact/signals';
import type {ModelSelection} from '../ahp/index.ts';
import type {Values} from '../forms/schema.ts';
import {remember, remembered} from '../store/device.ts';

/** The whole form. */
export interface NewDraft {
  readonly provider: string | undefined;
  readonly model: ModelSelection | undefined;
  readonly directory: string | undefined;
  readonly config: Values;
  readonly message: string;
}

const KEY = 'new';
const EMPTY: NewDraft = {provider: undefined, model: undefined, directory: undefined, config: {}, message: ''};

const current = signal<NewDraft>(read());

/** The form as it is now, in this tab. */
export const draft: ReadonlySignal<NewDraft> = current;

/** Change some of the form. */
export function change(changes: Partial<NewDraft>): void {
  current.value = {...current.peek(), ...changes};
  remember(KEY, JSON.stringify(current.value));
}

/** Forget what was written; the agent, its model and the folder are likely the same next time. */
export function clearMessage(): void {
  change({message: ''});
}

/** Forget the whole form. */
export function clearDraft(): void {
  current.value = EMPTY;
  remember(KEY, undefined);
}

function read(): NewDraft {
  try {
    const kept = JSON.parse(remembered(KEY) ?? '{}') as Partial<NewDraft>;
    return {...EMPTY, ...kept, config: typeof kept.config === 'object' && kept.config !== null ? kept.config : {}, message: String(kept.message ?? '')};
  } catch {
    return EMPTY;
  }
}
