/** The error that a turn ended with, and how to go on after it. */
import {useComputed} from '@preact/signals';
import {OctagonAlert} from 'lucide';
import type {ChatState, Message, ResponsePart} from '../ahp/index.ts';
import {turnResumed} from '../ahp/actions.ts';
import {putIntoComposer} from '../composer/intake.ts';
import {useFollowed, useStore} from '../store/index.ts';
import {ActButton, Button} from '../ui/button.tsx';
import {Icon} from '../ui/icon.tsx';
import type {PartRef} from '../ui/registry.tsx';
import {words} from '../words/index.ts';
import {answerHere, settledOf} from './acts.ts';
import {Progress} from './card.tsx';
import {Spelled} from './exact_text.tsx';

/** Turns that are followed, if this is the first to follow its chat. */
const TURNS = 30;

export function ErrorPart({part, at, running}: {part: ResponsePart; at: PartRef; running: boolean}) {
  const store = useStore();
  const chat = useFollowed(() => store.chat(at.chat, TURNS), [at.chat]);
  const message = useComputed(() => lastMessage(chat.state.value, at));
  if (part.kind !== 'error') return null;
  const key = `${at.turn} error ${at.index}`;
  const resume = (): void => answerHere(store, at.chat, key, turnResumed(at.turn), 'resume');
  return (
    <section class="cards-error">
      <p class="cards-error-head"><Icon of={OctagonAlert} /><strong>{words.cards.turnError}</strong></p>
      <p class="cards-error-text"><Spelled text={part.error.message} /></p>
      {part.error.stack && (
        <details>
          <summary>{words.cards.details}</summary>
          <pre class="cards-exact-text"><Spelled text={part.error.stack.slice(0, 20_000)} /></pre>
        </details>
      )}
      {!running && message.value && (
        <div class="cards-after">
          {part.resumable && <ActButton kind="primary" onClick={resume}>{words.cards.resume}</ActButton>}
          <Button onClick={() => void putIntoComposer(at.chat, message.value!)}>{words.cards.editAndResend}</Button>
        </div>
      )}
      <Progress settled={settledOf(at.chat, key).value} />
    </section>
  );
}

/** The message of a turn that ended with this error, if it is the chat's last one and nothing runs. */
function lastMessage(chat: ChatState | undefined, at: PartRef): Message | undefined {
  const last = chat?.turns.at(-1);
  if (!chat || chat.activeTurn || last?.id !== at.turn || last.state !== 'error') return undefined;
  // A turn may have failed before and gone on.
  if (last.responseParts.findLastIndex(part => part.kind === 'error') !== at.index) return undefined;
  return last.message.origin.kind === 'user' ? last.message : undefined;
}
