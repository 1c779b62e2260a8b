/** What became of something done, told at the control that did it. */
import type {Act} from '../store/index.ts';
import {words} from '../words/index.ts';

/** The words for an act's end; nothing while it is under way or went well. */
export function outcomeText(phase: Act['phase']['value'], text: string): string | undefined {
  switch (phase) {
    case 'refused': return words.link.refused(text);
    case 'uncertain': return words.link.uncertain;
    case 'notSent': return words.link.notSent;
    default: return undefined;
  }
}

export function Outcome({act}: {act: Act | undefined}) {
  const said = act && outcomeText(act.phase.value, act.text.value);
  return said ? <p class="ui-outcome" role="alert">{said}</p> : null;
}
