/** What a judge and the tool itself say about a call. Its room is there from the first moment, so that nothing moves. */
import {CircleHelp, LoaderCircle, OctagonAlert, ShieldCheck} from 'lucide';
import {Icon} from '../ui/icon.tsx';
import {words} from '../words/index.ts';
import {type Risk, type ToolHint, textOf} from './approval.ts';
import {Told} from './told.tsx';

const ICONS = {judging: LoaderCircle, safe: ShieldCheck, look: CircleHelp, risky: OctagonAlert};

export function RiskLine({risk, hints}: {risk: Risk | undefined; hints: readonly ToolHint[]}) {
  if (!risk && !hints.length) return null;
  return (
    <div class="cards-risk" role="group" aria-label={words.cards.riskAndHints}>
      {risk && (
        <p class={`cards-judged ${risk.level}`}>
          <Icon of={ICONS[risk.level]} />
          <span class="cards-why">
            <strong>{words.cards.risk[risk.level]}</strong>
            {textOf(risk.reason) && <> <Told of={risk.reason} /></>}
          </span>
        </p>
      )}
      {hints.length > 0 && (
        <ul class="cards-hints">
          {hints.map(hint => <li key={hint} class={hint}>{words.cards.hints[hint]}</li>)}
        </ul>
      )}
    </div>
  );
}
