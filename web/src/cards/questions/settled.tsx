/** Questions that are settled: what was asked, and what was answered. */
import type {ChatInputAnswer, ChatInputQuestion, ChatInputRequest} from '../../ahp/index.ts';
import type {PartRef} from '../../ui/registry.tsx';
import {words} from '../../words/index.ts';
import {settledOf} from '../acts.ts';
import {chosenIds, flagOf, isEmpty, otherOf, typedText} from '../answers.ts';
import {Progress} from '../card.tsx';
import {Spelled} from '../exact_text.tsx';
import '../cards.css';

/** An answer in words. */
export function answerText(question: ChatInputQuestion, answer: ChatInputAnswer | undefined): string {
  if (isEmpty(answer)) return words.cards.skipped;
  const flag = flagOf(answer);
  if (flag !== undefined) return flag ? words.cards.yes : words.cards.no;
  const options = 'options' in question ? question.options : [];
  const labels = chosenIds(answer).map(id => options.find(option => option.id === id)?.label ?? id);
  const other = otherOf(answer);
  return [...labels, ...(other === undefined ? [] : [other])].join(', ') || typedText(answer);
}

export function SettledRequest({request, response, at}: {request: ChatInputRequest; response: string | undefined; at: PartRef}) {
  const outcomes: Readonly<Record<string, string>> = words.cards.settled;
  const outcome = response === undefined ? words.cards.notAnswered : outcomes[response] ?? response;
  const answers = request.answers ?? {};
  return (
    <section class="cards-settled">
      <p>
        {request.message && <strong><Spelled text={request.message} /> </strong>}
        <span class="cards-note"><Spelled text={outcome} /></span>
      </p>
      {response === 'accept' && (
        <dl>
          {(request.questions ?? []).map(question => (
            <div key={question.id}>
              <dt><Spelled text={question.title || question.message} /></dt>
              <dd><Spelled text={answerText(question, Object.hasOwn(answers, question.id) ? answers[question.id] : undefined)} /></dd>
            </div>
          ))}
        </dl>
      )}
      <Progress settled={settledOf(at.chat, request.id).value} />
    </section>
  );
}
