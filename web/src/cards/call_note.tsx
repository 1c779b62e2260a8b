/** What this window knows about the answer to a call that waits no more. */
import type {CallRef} from '../ui/registry.tsx';
import {Progress} from './card.tsx';
import {settledOf} from './acts.ts';

/** "Allowing..." while an answer is under way, and "Answered in another window" after one from elsewhere. */
export function CallNote({at}: {at: CallRef}) {
  return <Progress settled={settledOf(at.chat, at.call).value} />;
}
