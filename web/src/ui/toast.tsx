/** Short messages at the edge of the page, with an undo where there is one. */
import {signal} from '@preact/signals';
import {X} from 'lucide';
import {useEffect, useMemo} from 'preact/hooks';
import {words} from '../words/index.ts';
import {Button} from './button.tsx';

/** Milliseconds for which a message with an undo stays. */
export const UNDO_TIME = 8000;
const PLAIN_TIME = 4000;
/** Messages shown at once; the oldest goes first. */
const MOST = 3;

export interface Toast {
  readonly id: number;
  readonly text: string;
  readonly action?: {readonly words: string; run(): void} | undefined;
}

const shown = signal<readonly Toast[]>([]);
const ends = new Map<number, {timer: ReturnType<typeof setTimeout>; onEnd: (() => void) | undefined}>();
let last = 0;

/** Show a message; `onEnd` runs when it goes without its action being taken. Gives what takes it away. */
export function toast(text: string, o: {undo?: () => void; action?: {words: string; run(): void}; ms?: number; onEnd?: () => void} = {}): () => void {
  const id = ++last;
  const action = o.action ?? (o.undo && {words: words.shell.undo, run: o.undo});
  const ms = o.ms ?? (action ? UNDO_TIME : PLAIN_TIME);
  ends.set(id, {timer: setTimeout(() => end(id), ms), onEnd: o.onEnd});
  shown.value = [...shown.peek(), {id, text, action}];
  for (const old of shown.peek().slice(0, -MOST)) end(old.id);
  return () => end(id);
}

function end(id: number, taken = false): void {
  const ending = ends.get(id);
  if (!ending) return;
  ends.delete(id);
  clearTimeout(ending.timer);
  shown.value = shown.peek().filter(each => each.id !== id);
  if (!taken) ending.onEnd?.();
}

// The modal dialogs that are open, the topmost last. Nothing outside of it can be reached, or even seen.
const modals = signal<readonly object[]>([]);

/** The messages that are shown now, while no modal dialog is open. */
export function Toasts() {
  return modals.value.length ? null : <Messages />;
}

/** The messages that are shown now, to be in a modal dialog: shown there while it is the topmost. */
export function ToastsInModal() {
  const self = useMemo(() => ({}), []);
  useEffect(() => {
    modals.value = [...modals.peek(), self];
    return () => void (modals.value = modals.peek().filter(each => each !== self));
  }, []);
  return modals.value.at(-1) === self ? <Messages /> : null;
}

function Messages() {
  return (
    <div class="ui-toasts" role="status">
      {shown.value.map(each => (
        <div class="ui-toast" key={each.id}>
          <span>{each.text}</span>
          {each.action && (
            <Button
              kind="quiet"
              onClick={() => {
                end(each.id, true);
                each.action?.run();
              }}
            >
              {each.action.words}
            </Button>
          )}
          <Button kind="quiet" icon={X} label={words.shell.close} onClick={() => end(each.id)} />
        </div>
      ))}
    </div>
  );
}
