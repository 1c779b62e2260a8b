/** What this window knows about the answer to a call that waits no more. */
import type {ToolCallState} from '../ahp/index.ts';
import type {CallRef} from '../ui/registry.tsx';
import {settledOf} from './acts.ts';
import './cards.css';
import {Progress} from './card.tsx';

const WAITING: ReadonlySet<string> = new Set(['pending-confirmation', 'pending-result-confirmation', 'auth-required']);

/** "Allowing..." while an answer is under way, and "Answered in another window" after one from elsewhere; cards say it themselves. */
export function CallNote({call, at}: {call: ToolCallState; at: CallRef}) {
  const {own, elsewhere} = settledOf(at.chat, at.call).value;
  if (WAITING.has(call.status) || (own ? own.act.phase.value === 'done' : !elsewhere)) return null;
  return <div class="cards-call-note"><Progress settled={{own, elsewhere}} /></div>;
}
