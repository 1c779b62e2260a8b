/** The fields of an agent's questions, one per kind. */
import {useSignal} from '@preact/signals';
import {useId} from 'preact/hooks';
import type {ChatInputAnswer, ChatInputOption, ChatInputQuestion, Json} from '../../ahp/index.ts';
import {Button} from '../../ui/button.tsx';
import type {RequestRef} from '../../ui/registry.tsx';
import {words} from '../../words/index.ts';
import {chosen, chosenIds, draft, flagOf, otherOf, typedNumber, typedText} from '../answers.ts';
import {Spelled} from '../exact_text.tsx';

/** What every field gets; its answer is a `ChatInputAnswer`, or nothing. */
export interface FieldProps {
  readonly question: ChatInputQuestion;
  readonly answer: Json;
  set(answer: Json): void;
  readonly at: RequestRef;
}

type Answer = ChatInputAnswer | undefined;
const answerOf = (props: FieldProps): Answer => (props.answer ?? undefined) as Answer;
const give = (props: FieldProps, answer: Answer): void => props.set(answer as unknown as Json);

/** The id of a question's text, which names its field. */
export const labelId = (at: RequestRef, question: ChatInputQuestion): string => `ask-${at.request}-${question.id}`.replaceAll(/\s/g, '_');

/** Longer answers get a field of several lines. */
const ONE_LINE = 200;

export function TextField(props: FieldProps) {
  const {question, at} = props;
  if (question.kind !== 'text') return null;
  const typed = (event: {currentTarget: {value: string}}): void => {
    const text = event.currentTarget.value;
    give(props, text ? draft({kind: 'text', value: text}) : undefined);
  };
  const shared = {class: 'cards-field', 'aria-labelledby': labelId(at, question), 'aria-required': question.required, value: typedText(answerOf(props)), onInput: typed};
  switch (question.format) {
    case 'email': return <input type="email" {...shared} />;
    case 'uri': return <input type="url" {...shared} />;
    case 'date': return <input type="date" {...shared} />;
    default: return question.format !== undefined || (question.max ?? Infinity) <= ONE_LINE ? <input type="text" {...shared} /> : <textarea rows={2} {...shared} />;
  }
}

const keyOf = (answer: Answer): string => JSON.stringify(answer ?? null);

export function NumberField(props: FieldProps) {
  const {question, at} = props;
  const typed = useSignal(typedText(answerOf(props)));
  // "1." is 1 already, but not what was typed.
  if (keyOf(typedNumber(typed.peek())) !== keyOf(answerOf(props))) typed.value = typedText(answerOf(props));
  return (
    <input
      class="cards-field short"
      inputMode={question.kind === 'integer' ? 'numeric' : 'decimal'}
      aria-labelledby={labelId(at, question)}
      aria-required={question.required}
      value={typed}
      onInput={event => {
        typed.value = event.currentTarget.value;
        give(props, typedNumber(event.currentTarget.value));
      }}
    />
  );
}

export function YesNoField(props: FieldProps) {
  const {question, at} = props;
  const flag = flagOf(answerOf(props));
  const choose = (value: boolean): void => give(props, flag === value && !question.required ? undefined : draft({kind: 'boolean', value}));
  return (
    <div class="cards-yes-no" role="group" aria-labelledby={labelId(at, question)}>
      <Button pressed={flag === true} onClick={() => choose(true)}>{words.cards.yes}</Button>
      <Button pressed={flag === false} onClick={() => choose(false)}>{words.cards.no}</Button>
    </div>
  );
}

/** Options that are shown at once; the filter finds the others. */
const MOST_SHOWN = 300;
/** More options than these are searched instead of read. */
const MOST_READ = 7;

export function ChoiceField(props: FieldProps) {
  const {question, at} = props;
  const filter = useSignal('');
  const name = useId();
  if (question.kind !== 'single-select' && question.kind !== 'multi-select') return null;
  const isMany = question.kind === 'multi-select';
  const answer = answerOf(props);
  const ids = chosenIds(answer);
  const other = otherOf(answer);
  const options = question.options ?? [];
  const isLong = options.length > MOST_READ;
  const wanted = filter.value.trim().toLowerCase();
  const shown = wanted ? options.filter(option => `${option.label} ${option.description ?? ''}`.toLowerCase().includes(wanted)) : options;
  const pick = (option: ChatInputOption, isOn: boolean): void => {
    if (!isMany) give(props, chosen([option.id], undefined, false));
    else give(props, chosen(isOn ? [...ids, option.id] : ids.filter(id => id !== option.id), other, true));
  };
  const write = (text: string | undefined): void => give(props, chosen(isMany ? ids : [], text, isMany));
  return (
    <div class="cards-choice" role={isMany ? 'group' : 'radiogroup'} aria-labelledby={labelId(at, question)} aria-required={isMany ? undefined : question.required}>
      {isLong && (
        <input class="cards-field" type="search" placeholder={words.cards.filter} aria-label={words.cards.filter} value={filter} onInput={event => void (filter.value = event.currentTarget.value)} />
      )}
      <div class={isLong ? 'cards-options long' : 'cards-options'}>
        {shown.slice(0, MOST_SHOWN).map(option => (
          <Option key={option.id} option={option} name={name} isMany={isMany} isOn={ids.includes(option.id)} pick={isOn => pick(option, isOn)} />
        ))}
        {!shown.length && <p class="cards-note">{words.cards.noneMatch}</p>}
      </div>
      {question.allowFreeformInput && <Other isMany={isMany} name={name} text={other} write={write} />}
      {isMany && <Count count={ids.length + (other === undefined ? 0 : 1)} most={question.kind === 'multi-select' ? question.max : undefined} />}
      {!isMany && !question.required && (
        <div class="cards-clear">{answer !== undefined && <Button kind="quiet" onClick={() => give(props, undefined)}>{words.cards.clear}</Button>}</div>
      )}
    </div>
  );
}

interface OptionProps {
  readonly option: ChatInputOption;
  readonly name: string;
  readonly isMany: boolean;
  readonly isOn: boolean;
  pick(isOn: boolean): void;
}

function Option({option, name, isMany, isOn, pick}: OptionProps) {
  return (
    <label class="cards-option">
      <input type={isMany ? 'checkbox' : 'radio'} name={name} checked={isOn} onChange={event => pick(event.currentTarget.checked)} />
      <span>
        <Spelled text={option.label} />
        {option.recommended && <em class="cards-recommended"> {words.cards.recommended}</em>}
        {option.description && <small><Spelled text={option.description} /></small>}
      </span>
    </label>
  );
}

function Other({isMany, name, text, write}: {isMany: boolean; name: string; text: string | undefined; write(text: string | undefined): void}) {
  return (
    <div class="cards-other">
      <label class="cards-option">
        <input type={isMany ? 'checkbox' : 'radio'} name={name} checked={text !== undefined} onChange={event => write(event.currentTarget.checked ? '' : undefined)} />
        <span>{words.cards.other}</span>
      </label>
      {text !== undefined && (
        <input class="cards-field" aria-label={words.cards.otherText} value={text} onInput={event => write(event.currentTarget.value)} />
      )}
    </div>
  );
}

function Count({count, most}: {count: number; most: number | undefined}) {
  return <p class="cards-note" role="status">{most === undefined ? words.cards.chosenCount(count) : words.cards.chosenOf(count, most)}</p>;
}
