import {describe, expect, it} from 'vitest';
import type {ChatInputAnswer, ChatInputQuestion, ChatInputRequest} from '../../src/ahp/index.ts';
import {begun, canShare, chosen, chosenIds, draft, flagOf, isEmpty, otherOf, problemOf, problemsOf, submitted, typedNumber, typedText} from '../../src/cards/answers.ts';

const ask = (kind: string, more: object = {}): ChatInputQuestion => ({id: 'q', message: '?', kind, ...more}) as ChatInputQuestion;
const text = (value: string): ChatInputAnswer => draft({kind: 'text', value});
const OPTIONS = {options: [{id: 'a', label: 'A'}, {id: 'b', label: 'B'}]};

describe('a field', () => {
  it('begins with what somebody has begun to answer, else with the default', () => {
    expect(typedText(begun(ask('text', {defaultValue: 'x'}), text('y')))).toBe('y');
    expect(typedText(begun(ask('text', {defaultValue: 'x'}), undefined))).toBe('x');
    expect(typedText(begun(ask('integer', {defaultValue: 0}), undefined))).toBe('0');
    expect(flagOf(begun(ask('boolean', {defaultValue: false}), undefined))).toBe(false);
    expect(begun(ask('single-select', OPTIONS), undefined)).toBeUndefined();
  });

  it('keeps what is no number as it was typed', () => {
    expect(typedNumber('1,5')).toEqual(draft({kind: 'number', value: 1.5}));
    expect(typedNumber(' ')).toBeUndefined();
    expect(typedText(typedNumber('12e'))).toBe('12e');
    expect(problemOf(ask('number'), typedNumber('12e'))).toEqual({kind: 'notNumber'});
    expect(canShare(ask('number'), typedNumber('12e'))).toBe(false);
    expect(canShare(ask('number'), typedNumber('12'))).toBe(true);
  });

  it('takes one option or other words, or several and other words', () => {
    expect(chosen(['a'], undefined, false)).toEqual(draft({kind: 'selected', value: 'a'}));
    expect(chosen(['a'], 'mine', false)).toEqual(draft({kind: 'selected', value: '', freeformValues: ['mine']}));
    expect(chosen(['a'], 'mine', true)).toEqual(draft({kind: 'selected-many', value: ['a'], freeformValues: ['mine']}));
    expect(chosen([], undefined, true)).toBeUndefined();
    expect(chosenIds(chosen(['a'], 'mine', false))).toEqual([]);
    expect(otherOf(chosen(['a'], 'mine', false))).toBe('mine');
    expect(otherOf(chosen(['a'], undefined, false))).toBeUndefined();
  });
});

describe('an answer', () => {
  it.each<[ChatInputQuestion, ChatInputAnswer | undefined, object | undefined]>([
    [ask('text', {required: true}), undefined, {kind: 'required'}],
    [ask('text', {required: true}), text(''), {kind: 'required'}],
    [ask('text', {min: 3}), undefined, undefined],
    [ask('text', {min: 3}), text('ab'), {kind: 'tooShort', n: 3}],
    [ask('text', {max: 2}), text('😀😀'), undefined],
    [ask('text', {max: 1}), text('😀😀'), {kind: 'tooLong', n: 1}],
    [ask('integer'), typedNumber('1.5'), {kind: 'notWhole'}],
    [ask('integer', {min: 0}), typedNumber('-1'), {kind: 'tooSmall', n: 0}],
    [ask('number', {max: 3}), typedNumber('3.1'), {kind: 'tooLarge', n: 3}],
    [ask('multi-select', {...OPTIONS, max: 1}), chosen(['a', 'b'], undefined, true), {kind: 'tooMany', n: 1}],
    [ask('multi-select', {...OPTIONS, min: 2}), chosen(['a'], 'b', true), undefined],
    [ask('boolean', {required: true}), draft({kind: 'boolean', value: false}), undefined],
    [ask('hologram', {required: true}), undefined, {kind: 'unknown'}],
    [ask('hologram'), undefined, undefined],
  ])('%# fits or does not', (question, answer, problem) => {
    expect(problemOf(question, answer)).toEqual(problem);
  });

  it('is given for every question, so that no draft is left to count', () => {
    const request = {id: 'r', questions: [{...ask('text'), id: 'one'}, {...ask('text'), id: 'two'}, {...ask('single-select', OPTIONS), id: 'three'}]} as ChatInputRequest;
    const answers = {one: text('x'), two: text(''), three: chosen([], ' mine ', false)!};
    expect(submitted(request, answers)).toEqual({
      one: {state: 'submitted', value: {kind: 'text', value: 'x'}},
      two: {state: 'skipped'},
      three: {state: 'submitted', value: {kind: 'selected', value: '', freeformValues: ['mine']}},
    });
    expect(problemsOf(request, answers).size).toBe(0);
  });

  it('of a question that is named like a member of every object is nobody\'s', () => {
    const request = {id: 'r', questions: [{...ask('text', {required: true}), id: 'toString'}]} as ChatInputRequest;
    expect(problemsOf(request, {}).get('toString')).toEqual({kind: 'required'});
    expect(isEmpty({state: 'skipped'})).toBe(true);
  });
});
