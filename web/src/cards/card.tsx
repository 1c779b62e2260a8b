/** The frame of everything that waits for a person, and the buttons that answer it. */
import {Diamond} from 'lucide';
import type {ComponentChildren} from 'preact';
import {useId, useLayoutEffect, useRef} from 'preact/hooks';
import type {StringOrMarkdown} from '../ahp/index.ts';
import {GUARD, Guarded} from '../ui/guarded.tsx';
import {Icon} from '../ui/icon.tsx';
import {Outcome} from '../ui/outcome.tsx';
import {words} from '../words/index.ts';
import type {Settled} from './acts.ts';
import './cards.css';
import {Spelled} from './exact_text.tsx';
import {Told} from './told.tsx';

export {GUARD};

/** Characters of names and labels. */
const FEW = 200;

export interface CardProps {
  readonly title: StringOrMarkdown;
  /** Which tool or who asks, said quietly beside the title. */
  readonly from?: string | undefined;
  /** The id of the call or request; what goes to the next waiting thing looks for it. */
  readonly id: string;
  readonly children?: ComponentChildren;
  readonly settled: Settled;
}

/** A card. It never takes focus by itself; with the focus in it, 1 to 9 press its numbered buttons. */
export function Card({title, from, id, children, settled}: CardProps) {
  const heading = useId();
  const card = useRef<HTMLElement>(null);
  // It goes when it is answered elsewhere. Its focus goes to the transcript, where no key does anything.
  useLayoutEffect(() => {
    const own = card.current;
    return () => {
      if (own?.contains(document.activeElement)) own.parentElement?.closest<HTMLElement>('[tabindex="0"]')?.focus({preventScroll: true});
    };
  }, []);
  return (
    <section ref={card} class="cards-card" role="group" aria-labelledby={heading} tabIndex={-1} data-waiting={id} onKeyDown={pressNumbered}>
      <header class="cards-head">
        <Icon of={Diamond} class="cards-diamond" />
        <h2 id={heading}><Told of={title} /></h2>
        {from && <span class="cards-from"><Spelled text={from} most={FEW} /></span>}
      </header>
      {children}
      <Progress settled={settled} />
    </section>
  );
}

const FIELD = 'input, textarea, select, [contenteditable]';

function pressNumbered(event: KeyboardEvent): void {
  if (!/^[1-9]$/.test(event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
  if ((event.target as Element).closest(FIELD)) return;
  const button = (event.currentTarget as Element).querySelector<HTMLElement>(`[data-number="${event.key}"] button`);
  if (!button) return;
  event.preventDefault();
  button.click();
}

/** What becomes of the answer that was given. */
export function Progress({settled}: {settled: Settled}) {
  const {own, elsewhere} = settled;
  if (own) {
    return own.act.phase.value === 'pending' ? <p class="cards-doing" role="status">{words.cards.doing[own.doing]}</p> : <Outcome act={own.act} />;
  }
  return elsewhere ? <p class="cards-doing" role="status">{words.cards.elsewhere}</p> : null;
}

export interface AnswerProps {
  readonly label: string;
  readonly kind?: 'plain' | 'primary' | 'quiet' | 'danger' | undefined;
  /** Its number among the keys. */
  readonly number?: number | undefined;
  readonly onClick: () => void;
  readonly whyNot?: string | undefined;
}

/** A button that answers a card: dead for a moment after it appears or moves. */
export function AnswerButton({label, kind = 'plain', number, onClick, whyNot}: AnswerProps) {
  return (
    <span class={`cards-answer ${kind}`} data-number={number}>
      <Guarded kind={kind} onClick={onClick} whyNot={whyNot}>
        <span><Spelled text={label} most={FEW} /></span>
        {number !== undefined && number <= 9 && <kbd class="cards-key" aria-hidden="true">{number}</kbd>}
      </Guarded>
    </span>
  );
}
