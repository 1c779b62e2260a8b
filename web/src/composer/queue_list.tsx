/** What waits to be said: the message that steers this turn, and those queued for after it. */
import type {ReadonlySignal} from '@preact/signals';
import type {ChatState} from '../ahp/index.ts';
import type {ChatRef} from '../ui/registry.tsx';

export function QueueList(_: {at: ChatRef; chat: ReadonlySignal<ChatState | undefined>}) {
  return null;
}
