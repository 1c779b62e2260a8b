/** Keys that a phone's keyboard has not. */
import type {Signal} from '@preact/signals';
import {words} from '../../words/index.ts';
import type {KeyName} from './keys.ts';

const KEYS: readonly (KeyName | 'ctrl')[] = ['esc', 'tab', 'ctrl', 'left', 'down', 'up', 'right', 'interrupt'];

export interface KeyRowProps {
  /** Whether Ctrl is held for the next key. */
  readonly ctrl: Signal<boolean>;
  readonly onKey: (key: KeyName) => void;
}

// A press on the row must not take the focus: the keyboard would close.
const keepFocus = (event: Event): void => event.preventDefault();

export function KeyRow({ctrl, onKey}: KeyRowProps) {
  const said = words.workspace.terminals;
  return (
    <div class="terminals-keys" role="toolbar" aria-label={said.keyRow} onPointerDown={keepFocus} onMouseDown={keepFocus}>
      {KEYS.map(key => (
        <button key={key} type="button" aria-label={said.keyNames[key]} aria-pressed={key === 'ctrl' ? ctrl.value : undefined}
          onClick={() => (key === 'ctrl' ? void (ctrl.value = !ctrl.peek()) : onKey(key))}>
          {said.keys[key]}
        </button>
      ))}
    </div>
  );
}
