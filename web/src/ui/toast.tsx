/** Short messages at the edge of the page, with an undo where there is one. */
import {signal} from '@preact/signals';
import {X} from 'lucide';
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

/** The messages that are shown now. */
export function Toasts() {
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
