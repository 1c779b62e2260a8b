/** Commands: the palette, the help and the keys are all made from this one list. */
import {type ReadonlySignal, signal} from '@preact/signals';

export interface Command {
  readonly id: string;
  /** What it does, as people read it. */
  readonly words: string;
  /** The heading under which the help shows it. */
  readonly group?: string;
  /** Keys such as `Mod+K`, `?` or `[`; `Mod` is Ctrl, or Cmd on a Mac. */
  readonly keys?: readonly string[];
  /** Whether it can be used now. */
  readonly when?: () => boolean;
  readonly run: () => void;
}

const list = signal<readonly Command[]>([]);

/** Every command that there is now. */
export const commands: ReadonlySignal<readonly Command[]> = list;

/** Add a command, in place of one with the same id; gives what takes it away. */
export function command(added: Command): () => void {
  list.value = [...list.peek().filter(other => other.id !== added.id), added];
  return () => {
    list.value = list.peek().filter(other => other !== added);
  };
}

/** Whether single letters and signs work as keys outside fields. */
export const bareKeys = signal(true);

const IS_MAC = /Mac|iPhone|iPad/.test(globalThis.navigator?.platform ?? '');

/** The key combination of a press, as commands spell it. */
export function combination(event: KeyboardEvent): string {
  const mod = IS_MAC ? event.metaKey : event.ctrlKey;
  const key = event.key.length === 1 && (mod || event.altKey) ? event.key.toUpperCase() : event.key;
  // Shift is part of the sign itself in "?", and told only where the key alone does not show it.
  const shift = event.shiftKey && (key.length > 1 || mod);
  return [mod && 'Mod', event.altKey && 'Alt', shift && 'Shift', key].filter(Boolean).join('+');
}

/** How a combination is shown on this device. */
export function shownKeys(keys: string): string {
  return keys.split('+').map(key => (key === 'Mod' ? (IS_MAC ? '⌘' : 'Ctrl') : key.length === 1 ? key.toUpperCase() : key)).join(IS_MAC ? '' : '+');
}

const FIELD = 'input, textarea, select, [contenteditable], .xterm';

/** Whether a press belongs to the field that it happened in. */
export function inField(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest(FIELD) !== null;
}

/** Run the command of a key press, if there is one; whether there was. */
export function runKeys(event: KeyboardEvent): boolean {
  if (event.defaultPrevented || event.isComposing) return false;
  const pressed = combination(event);
  const isBare = !/^(Mod|Alt)\+/.test(pressed);
  if (isBare && (!bareKeys.peek() || inField(event.target) || document.querySelector('dialog[open]'))) return false;
  const found = list.peek().find(each => each.keys?.includes(pressed) && (each.when?.() ?? true));
  if (!found) return false;
  event.preventDefault();
  found.run();
  return true;
}
