/** What this device wants to be told of. Off until it is turned on. */
import {type ReadonlySignal, signal} from '@preact/signals';
import type {PushKind} from '../ahp/own.ts';
import {remember, rememberedJson} from '../store/device.ts';

export interface NotifySettings {
  readonly isOn: boolean;
  /** Whether to tell of long turns that went well. */
  readonly finished: boolean;
  /** Whether to tell what is asked for, which others may read on a locked screen. */
  readonly withText: boolean;
}

function read(): NotifySettings {
  const {isOn, finished, withText} = (rememberedJson('notify') ?? {}) as Partial<Record<keyof NotifySettings, unknown>>;
  return {isOn: isOn === true, finished: finished === true, withText: withText === true};
}

const now = signal(read());

export const notifySettings: ReadonlySignal<NotifySettings> = now;

export function setNotify(change: Partial<NotifySettings>): void {
  now.value = {...now.peek(), ...change};
  remember('notify', JSON.stringify(now.peek()));
}

/** The kinds that are wanted. */
export const kindsOf = ({finished}: NotifySettings): readonly PushKind[] => (finished ? ['needsInput', 'failed', 'finished'] : ['needsInput', 'failed']);
