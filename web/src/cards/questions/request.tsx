/** An agent's questions: fields that all windows share, and the three ways to settle them. */
import {useSignal} from '@preact/signals';
import {ExternalLink} from 'lucide';
import {useEffect, useMemo, useRef} from 'preact/hooks';
import type {ChatInputQuestion, ChatInputRequest, Json, ResponsePart} from '../../ahp/index.ts';
import {inputCompleted} from '../../ahp/actions.ts';
import type {Tell} from '../../composer/draft_sync.ts';
import {whenTaken} from '../../composer/when_taken.ts';
import {useStore} from '../../store/index.ts';
import {Button} from '../../ui/button.tsx';
import {combination} from '../../ui/commands.ts';
import {type PartRef, type RequestRef, questionViews} from '../../ui/registry.tsx';
import {openSafely, openable, visible} from '../../ui/safe.tsx';
import {width} from '../../ui/width.ts';
import {words} from '../../words/index.ts';
import {answerHere, settledOf} from '../acts.ts';
import {AnswerSync} from '../answer_sync.ts';
import {type Problem, isKnown, problemsOf, submitted} from '../answers.ts';
import {Brief} from '../brief.tsx';
import {AnswerButton, Card} from '../card.tsx';
import {Spelled} from '../exact_text.tsx';
import {labelId} from './fields.tsx';
import {Lines, firstLine} from './lines.tsx';
import {SettledRequest} from './settled.tsx';

/** What a request asks, as it says itself. */
const wholeTitle = (request: ChatInputRequest): string =>
  request.message || (request.questions?.length === 1 ? request.questions[0]!.title || request.questions[0]!.message : '') || words.cards.asks;

/** Whether the host itself asks about servers, which no agent can under such an id. */
const isAboutTrust = (request: ChatInputRequest): boolean => request.id.startsWith('trust-');

/** What a request asks, in a line. */
export const requestTitle = (request: ChatInputRequest): string => firstLine(wholeTitle(request)).line || words.cards.asks;

export function RequestPart({part, at, running}: {part: ResponsePart; at: PartRef; running: boolean}) {
  if (part.kind !== 'inputRequest') return null;
  const {request, response} = part;
  if (response !== undefined || !running) return <SettledRequest request={request} response={response} at={at} />;
  if (width.value === 'phone') return <Brief title={requestTitle(request)} at={at} id={request.id} action={words.cards.answer} />;
  return <RequestForm request={request} at={{...at, request: request.id}} />;
}

const after = (ms: number, run: () => void): (() => void) => {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
};

/** The questions to be answered. */
export function RequestForm({request, at}: {request: ChatInputRequest; at: RequestRef}) {
  const store = useStore();
  const box = useRef<HTMLDivElement>(null);
  const sync = useMemo(() => {
    const tell: Tell = (action, taken) => {
      if (store.live.peek() === 'live' && store.me.peek()?.role !== 'viewer') whenTaken(store.act(at.chat, action), taken);
    };
    return new AnswerSync(request, after, tell);
  }, [at.chat, request.id]);
  useEffect(() => sync.receive(request), [request]);
  useEffect(() => () => sync.flush(), [sync]);
  const isViewer = store.me.value?.role === 'viewer';
  const hasTried = useSignal(false);
  const problems = problemsOf(request, sync.answers.value);
  const settle = (response: 'accept' | 'decline' | 'cancel'): void => {
    sync.close();
    const doing = response === 'accept' ? 'answer' : response === 'cancel' ? 'skip' : 'decline';
    answerHere(store, at.chat, request.id, inputCompleted(request.id, response, response === 'accept' ? submitted(request, sync.answers.value) : {}), doing);
  };
  const answer = (): void => {
    hasTried.value = true;
    if (!problems.size) settle('accept');
    else box.current?.querySelector<HTMLElement>(`[data-question="${CSS.escape([...problems.keys()][0]!)}"] :is(input, textarea, button)`)?.focus();
  };
  const key = (event: KeyboardEvent): void => {
    if (combination(event) !== 'Mod+Enter') return;
    event.preventDefault();
    box.current?.querySelector<HTMLElement>('.cards-answer.primary button')?.click();
  };
  const questions = request.questions ?? [];
  return (
    <Card title={requestTitle(request)} id={request.id} settled={settledOf(at.chat, request.id).value}>
      <div class="cards-questions" ref={box} onKeyDown={key}>
        <Lines text={firstLine(wholeTitle(request)).rest} isExact={isAboutTrust(request)} />
        {request.url && <Address url={request.url} />}
        {isViewer && <p class="cards-note">{words.link.viewer}</p>}
        <fieldset class="cards-fields" disabled={isViewer}>
          {questions.map(question => (
            <Question
              key={question.id}
              question={question}
              isOnly={questions.length === 1 && !request.message}
              isExact={isAboutTrust(request)}
              at={at}
              sync={sync}
              problem={hasTried.value ? problems.get(question.id) : undefined}
            />
          ))}
        </fieldset>
        <div class="cards-answers">
          <div class="cards-side deny">
            <AnswerButton label={words.cards.decline} onClick={() => settle('decline')} />
            <AnswerButton label={words.cards.skip} kind="quiet" onClick={() => settle('cancel')} />
          </div>
          <AnswerButton label={questions.length || !request.url ? words.cards.answer : words.cards.done} kind="primary" onClick={answer} />
        </div>
      </div>
    </Card>
  );
}

interface QuestionProps {
  readonly question: ChatInputQuestion;
  /** Whether the card's title is this question already. */
  readonly isOnly: boolean;
  /** Whether its lines are commands. */
  readonly isExact: boolean;
  readonly at: RequestRef;
  readonly sync: AnswerSync;
  readonly problem: Problem | undefined;
}

function Question({question, isOnly, isExact, at, sync, problem}: QuestionProps) {
  const View = questionViews.get(question.kind);
  const answer = sync.answers.value;
  const own = Object.hasOwn(answer, question.id) ? answer[question.id] : undefined;
  const title = question.title && !isOnly ? question.title : undefined;
  const {line, rest} = firstLine(question.message);
  return (
    <div
      class="cards-question"
      data-question={question.id}
      onFocusIn={() => sync.focus(question.id)}
      onFocusOut={() => sync.focus(undefined)}
    >
      <p class="cards-asked">
        <span id={labelId(at, question)} class={isOnly && !question.title ? 'hidden-text' : undefined}>
          {title && <strong><Spelled text={title} /> </strong>}
          {!(title && rest) && <Spelled text={line} />}
        </span>
        {!question.required && isKnown(question) && <span class="cards-note"> {words.cards.optional}</span>}
        {sync.alsoEdited.value.has(question.id) && <span class="cards-also" role="status"> {words.cards.alsoEdited}</span>}
      </p>
      {/* Whatever the card says already is not said again. */}
      {!(isOnly && !question.title) && <Lines text={title ? rest && question.message : rest} isExact={isExact} />}
      <View question={question} answer={(own ?? null) as unknown as Json} set={given => sync.set(question, (given ?? undefined) as never)} at={at} />
      {problem && <p class="cards-problem" role="alert">{problemText(problem)}</p>}
    </div>
  );
}

function problemText(problem: Problem): string {
  const text = words.cards.problems[problem.kind];
  return typeof text === 'string' ? text : text('n' in problem ? problem.n : 0);
}

/** An address to be visited: shown in full, opened only by hand. */
function Address({url}: {url: string}) {
  return (
    <div class="cards-address">
      <code>{visible(url)}</code>
      {openable(url)
        ? <Button icon={ExternalLink} onClick={() => void openSafely(url)}>{words.cards.open}</Button>
        : <p class="cards-note">{words.cards.notOpened}</p>}
    </div>
  );
}
