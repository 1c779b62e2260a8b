/** The beginning of what waits, where there is no room for all of it: it opens the rest. */
import type {StringOrMarkdown} from '../ahp/index.ts';
import {Button} from '../ui/button.tsx';
import type {CallRef, PartRef} from '../ui/registry.tsx';
import {words} from '../words/index.ts';
import {settledOf} from './acts.ts';
import {Card} from './card.tsx';
import {type CardInput} from './approval.ts';
import {Spelled} from './exact_text.tsx';
import {openCard} from './open_card.ts';

/** Characters of an input that say what it is about. */
const FEW = 200;

export interface BriefProps {
  readonly title: StringOrMarkdown;
  readonly from?: string | undefined;
  readonly at: CallRef | PartRef;
  readonly id: string;
  readonly input?: CardInput | undefined;
  /** What the button says. */
  readonly action?: string | undefined;
}

export function Brief({title, from, at, id, input, action = words.cards.review}: BriefProps) {
  const text = input?.kind === 'text' ? input.text.slice(0, FEW) : '';
  return (
    <Card title={title} from={from} id={id} settled={settledOf(at.chat, id).value}>
      {text && <p class="cards-brief"><code><Spelled text={text} /></code></p>}
      <Button kind="primary" class="cards-brief-open" popup="dialog" onClick={() => openCard(at.chat, id)}>{action}</Button>
    </Card>
  );
}
