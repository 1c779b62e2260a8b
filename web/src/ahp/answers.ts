/** Answers to an agent's questions, from the plain values that a form holds. */
import {type J, indexBy} from './edits.ts';

/** A value that cannot answer its question, or a question that was not asked; the message says which. */
export class NoAnswer extends Error {}

/**
 * Turn plain values by question id into submitted answers.
 *
 * Text, numbers and booleans stand for themselves, options for their id or label, null for a skipped
 * question; anything else said to a question with options is free text, where that is allowed. An
 * answer that is spelled out already stays as it is. Throws NoAnswer.
 */
export function answersTo(request: J, given: Readonly<Record<string, J>>): J {
  const questions: readonly J[] = request?.questions ?? [];
  const answers: [string, J][] = [];
  for (const [id, value] of Object.entries(given)) {
    const index = indexBy(questions, 'id', id);
    if (index < 0) throw new NoAnswer(`there is no question ${id}`);
    answers.push([id, answer(questions[index], value)]);
  }
  // Not by assignment: an agent may name a question __proto__.
  return Object.fromEntries(answers);
}

function answer(question: J, value: J): J {
  if (value == null) return {state: 'skipped'};
  if (typeof value === 'object' && !Array.isArray(value)) return value;
  return {state: 'submitted', value: valueOf(question, value)};
}

function valueOf(question: J, value: J): J {
  switch (question.kind) {
    case 'text':
      if (typeof value === 'string') return {kind: 'text', value};
      break;
    case 'number':
    case 'integer':
      if (typeof value === 'number' && Number.isFinite(value)) return {kind: 'number', value};
      break;
    case 'boolean':
      if (typeof value === 'boolean') return {kind: 'boolean', value};
      break;
    case 'single-select': {
      if (typeof value !== 'string') break;
      const {chosen, free} = choose(question, [value]);
      return withFree({kind: 'selected', value: chosen[0] ?? ''}, free);
    }
    case 'multi-select': {
      if (!Array.isArray(value)) break;
      const {chosen, free} = choose(question, value);
      return withFree({kind: 'selected-many', value: chosen}, free);
    }
    default:
  }
  throw new NoAnswer(`${JSON.stringify(value)} does not answer the ${question.kind} question ${question.id}`);
}

/** The ids of the options that were meant, and what was said besides. */
function choose(question: J, wanted: readonly J[]): {chosen: string[]; free: string[]} {
  const chosen: string[] = [];
  const free: string[] = [];
  const options: readonly J[] = question.options ?? [];
  for (const word of wanted) {
    const option = options.find(each => each.id === word) ?? options.find(each => each.label === word);
    if (option) chosen.push(option.id);
    else if (question.allowFreeformInput) free.push(word);
    else throw new NoAnswer(`${JSON.stringify(word)} is no option of question ${question.id}`);
  }
  return {chosen, free};
}

const withFree = (value: J, free: readonly string[]): J => (free.length ? {...value, freeformValues: free} : value);
