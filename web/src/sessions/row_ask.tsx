/** What a session waits for, in its row of the list, with the one approval that may be given there. */
import {useState} from 'preact/hooks';
import {approval} from '../ahp/actions.ts';
import {noteOwn} from '../cards/acts.ts';
import {openFirst} from '../cards/open_card.ts';
import {type Act, useStore} from '../store/index.ts';
import {Guarded} from '../ui/guarded.tsx';
import {Outcome} from '../ui/outcome.tsx';
import {visible} from '../ui/safe.tsx';
import {To} from '../ui/to.tsx';
import {words} from '../words/index.ts';
import type {Ask, Offer} from './asks.ts';
import {chatRoute} from './chat_route.ts';

export interface RowAskProps {
  readonly session: string;
  readonly title: string;
  readonly ask: Ask;
  /** Whether it was answered meanwhile. */
  readonly settled: boolean;
}

/** The request, and what can be done about it from here. */
export function RowAsk({session, title, ask, settled}: RowAskProps) {
  const store = useStore();
  const [act, setAct] = useState<Act>();
  const allow = (offer: Offer): void => {
    const option = offer.option === undefined ? {} : {option: offer.option};
    const given = store.act(ask.chat, approval(ask.turn ?? '', ask.call, option), `row:${ask.id}`);
    noteOwn(ask.chat, ask.call.toolCallId, given, 'allow');
    setAct(given);
  };
  const phase = act?.phase.value;
  // What hides characters wants a closer look than a row allows.
  const isPlain = visible(ask.headline) === ask.headline && visible(ask.input ?? '') === (ask.input ?? '');
  const offer = isPlain ? ask.offer : undefined;
  const isOwn = phase === 'pending' || phase === 'done';
  return (
    <div class="sessions-ask">
      <p class="sessions-ask-what">
        {headline(ask)}
        {ask.more > 0 && <span class="sessions-ask-more"> {words.sessions.more(ask.more)}</span>}
      </p>
      {ask.input !== undefined && ask.input !== ask.headline && (
        <pre class={offer ? 'sessions-ask-input' : 'sessions-ask-input cut'}>{visible(ask.input)}</pre>
      )}
      {settled || isOwn ? (
        <p class="sessions-ask-done">{phase === 'done' ? words.sessions.allowed : isOwn ? words.sessions.allowing : words.sessions.settled}</p>
      ) : (
        <div class="sessions-ask-buttons">
          <To route={chatRoute(store.sessions.peek(), session, ask.chat)} class="ui-button" onGo={() => openFirst(ask.chat)}>{reviewWord(ask)}</To>
          {/* What would be allowed is another thing: its button is dead for a moment. */}
          {offer && <Allow key={JSON.stringify([ask.headline, ask.input, offer])} offer={offer} title={title} onAllow={allow} />}
        </div>
      )}
      <Outcome act={act} />
    </div>
  );
}

function Allow({offer, title, onAllow}: {offer: Offer; title: string; onAllow(offer: Offer): void}) {
  const label = visible(offer.label ?? words.sessions.allowOnce);
  return (
    <Guarded kind="primary" onClick={() => onAllow(offer)}>
      {label}
      <span class="hidden-text">: {title}</span>
    </Guarded>
  );
}

function headline(ask: Ask): string {
  if (ask.kind === 'signIn') return words.sessions.signIn(visible(ask.headline));
  if (ask.kind === 'unknown') return words.shell.unknownKind(visible(ask.headline));
  return ask.kind === 'result' ? `${words.sessions.useResult} ${visible(ask.headline)}` : visible(ask.headline);
}

const reviewWord = (ask: Ask): string => (ask.kind === 'answer' ? words.sessions.answer : ask.kind === 'unknown' ? words.sessions.open : words.sessions.review);
