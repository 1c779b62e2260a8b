/** Answers to an agent's questions: what a field begins with, whether it fits, what is sent (pure). */
import type {ChatInputAnswer, ChatInputAnswerValue, ChatInputQuestion, ChatInputRequest} from '../ahp/index.ts';

/** Answers by the id of their question. */
export type Answers = {readonly [question: string]: ChatInputAnswer};

/** Why an answer cannot be given; `n` is the bound that it breaks. */
export type Problem =
  | {readonly kind: 'required' | 'notNumber' | 'notWhole' | 'unknown'}
  | {readonly kind: 'tooShort' | 'tooLong' | 'tooSmall' | 'tooLarge' | 'tooFew' | 'tooMany'; readonly n: number};

const KNOWN: ReadonlySet<string> = new Set(['text', 'number', 'integer', 'boolean', 'single-select', 'multi-select']);

/** Whether this page can ask a question. */
export const isKnown = (question: ChatInputQuestion): boolean => KNOWN.has(question.kind);

/** An answer in the making. */
export const draft = (value: ChatInputAnswerValue): ChatInputAnswer => ({state: 'draft', value});

/** What a field shows at first: what somebody has begun to answer, else the default. */
export function begun(question: ChatInputQuestion, shared: ChatInputAnswer | undefined): ChatInputAnswer | undefined {
  return shared ?? prefilled(question);
}

function prefilled(question: ChatInputQuestion): ChatInputAnswer | undefined {
  switch (question.kind) {
    case 'text':
      return question.defaultValue === undefined ? undefined : draft({kind: 'text', value: question.defaultValue});
    case 'number':
    case 'integer':
      return question.defaultValue === undefined ? undefined : draft({kind: 'number', value: question.defaultValue});
    case 'boolean':
      return question.defaultValue === undefined ? undefined : draft({kind: 'boolean', value: question.defaultValue});
    default:
      return undefined;
  }
}

/** What was typed into a number's field; text that is no number stays text, so that nothing typed is lost. */
export function typedNumber(text: string): ChatInputAnswer | undefined {
  const words = text.trim();
  if (!words) return undefined;
  const number = Number(words.replace(',', '.'));
  return Number.isFinite(number) ? draft({kind: 'number', value: number}) : draft({kind: 'text', value: text});
}

/** What a field has to say about one of several options; `other` is what was written beside them. */
export function chosen(ids: readonly string[], other: string | undefined, isMany: boolean): ChatInputAnswer | undefined {
  const free = other === undefined ? {} : {freeformValues: [other]};
  if (isMany) return ids.length || other !== undefined ? draft({kind: 'selected-many', value: ids, ...free}) : undefined;
  // Other words replace the choice.
  if (other !== undefined) return draft({kind: 'selected', value: '', ...free});
  return ids.length ? draft({kind: 'selected', value: ids[0]!}) : undefined;
}

/** The ids of the options that an answer has. */
export function chosenIds(answer: ChatInputAnswer | undefined): readonly string[] {
  const value = valueOf(answer);
  if (value?.kind === 'selected') return value.freeformValues?.length || !value.value ? [] : [value.value];
  return value?.kind === 'selected-many' ? value.value : [];
}

/** What was written besides the options; undefined where nothing was to be. */
export function otherOf(answer: ChatInputAnswer | undefined): string | undefined {
  const value = valueOf(answer);
  if (value?.kind !== 'selected' && value?.kind !== 'selected-many') return undefined;
  return value.freeformValues?.length ? value.freeformValues.join(', ') : undefined;
}

/** The words or the number of an answer, as it would be typed. */
export function typedText(answer: ChatInputAnswer | undefined): string {
  const value = valueOf(answer);
  return value?.kind === 'text' || value?.kind === 'number' ? String(value.value) : '';
}

/** The yes or no of an answer. */
export function flagOf(answer: ChatInputAnswer | undefined): boolean | undefined {
  const value = valueOf(answer);
  return value?.kind === 'boolean' ? value.value : undefined;
}

function valueOf(answer: ChatInputAnswer | undefined): ChatInputAnswerValue | undefined {
  return answer && answer.state !== 'skipped' ? answer.value : undefined;
}

/** Whether an answer says nothing. */
export function isEmpty(answer: ChatInputAnswer | undefined): boolean {
  const value = valueOf(answer);
  switch (value?.kind) {
    case undefined:
      return true;
    case 'text':
      return !value.value;
    case 'selected':
      return !value.value && !written(value);
    case 'selected-many':
      return !value.value.length && !written(value);
    default:
      return false;
  }
}

const written = (value: {freeformValues?: readonly string[]}): boolean => !!value.freeformValues?.some(text => text.trim());

/** What keeps an answer from being given; the host has the last word. */
export function problemOf(question: ChatInputQuestion, answer: ChatInputAnswer | undefined): Problem | undefined {
  if (isEmpty(answer)) return question.required ? {kind: isKnown(question) ? 'required' : 'unknown'} : undefined;
  const value = valueOf(answer)!;
  switch (question.kind) {
    case 'text':
      // The host counts characters, not UTF-16 code units.
      return value.kind === 'text' ? outside(question, [...value.value].length, 'tooShort', 'tooLong') : undefined;
    case 'number':
    case 'integer':
      return numberProblem(question, value);
    case 'multi-select':
      return value.kind === 'selected-many'
        ? outside(question, value.value.length + (value.freeformValues?.length ?? 0), 'tooFew', 'tooMany')
        : undefined;
    default:
      return undefined;
  }
}

function numberProblem(question: ChatInputQuestion & {kind: 'number' | 'integer'}, value: ChatInputAnswerValue): Problem | undefined {
  if (value.kind !== 'number') return {kind: 'notNumber'};
  if (question.kind === 'integer' && !Number.isInteger(value.value)) return {kind: 'notWhole'};
  return outside(question, value.value, 'tooSmall', 'tooLarge');
}

type Below = 'tooShort' | 'tooSmall' | 'tooFew';
type Above = 'tooLong' | 'tooLarge' | 'tooMany';

function outside(bounds: {min?: number; max?: number}, amount: number, below: Below, above: Above): Problem | undefined {
  if (bounds.min !== undefined && bounds.min !== null && amount < bounds.min) return {kind: below, n: bounds.min};
  if (bounds.max !== undefined && bounds.max !== null && amount > bounds.max) return {kind: above, n: bounds.max};
  return undefined;
}

/** The problems of all answers, by question; empty if they can be given. */
export function problemsOf(request: ChatInputRequest, answers: Answers): ReadonlyMap<string, Problem> {
  const found = new Map<string, Problem>();
  for (const question of request.questions ?? []) {
    const problem = problemOf(question, Object.hasOwn(answers, question.id) ? answers[question.id] : undefined);
    if (problem) found.set(question.id, problem);
  }
  return found;
}

/** All answers as they are given: every question is named, so that no draft of another window's is left behind. */
export function submitted(request: ChatInputRequest, answers: Answers): Answers {
  const entries = (request.questions ?? []).map((question): [string, ChatInputAnswer] => {
    const answer = Object.hasOwn(answers, question.id) ? answers[question.id] : undefined;
    return [question.id, isEmpty(answer) ? {state: 'skipped'} : {state: 'submitted', value: trimmed(valueOf(answer)!)}];
  });
  return Object.fromEntries(entries);
}

function trimmed(value: ChatInputAnswerValue): ChatInputAnswerValue {
  if (value.kind !== 'selected' && value.kind !== 'selected-many') return value;
  const {freeformValues, ...rest} = value;
  const free = (freeformValues ?? []).map(text => text.trim()).filter(Boolean);
  return free.length ? {...rest, freeformValues: free} : rest;
}

/** Whether a draft can be told to the others: the host refuses values that are of another kind than the question. */
export function canShare(question: ChatInputQuestion, answer: ChatInputAnswer | undefined): boolean {
  const value = valueOf(answer);
  if (!value) return true;
  return question.kind !== 'number' && question.kind !== 'integer' ? isKnown(question) : value.kind === 'number';
}
