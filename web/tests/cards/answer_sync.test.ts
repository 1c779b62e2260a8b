import {beforeEach, describe, expect, it} from 'vitest';
import type {ChatInputAnswer, ChatInputQuestion, ChatInputRequest, StateAction} from '../../src/ahp/index.ts';
import {AnswerSync, SHARE_AFTER} from '../../src/cards/answer_sync.ts';
import {draft} from '../../src/cards/answers.ts';

const name: ChatInputQuestion = {id: 'name', message: 'Name?', kind: 'text', defaultValue: 'nobody'};
const age: ChatInputQuestion = {id: 'age', message: 'Age?', kind: 'integer'};
const text = (value: string): ChatInputAnswer => draft({kind: 'text', value});
const asked = (answers?: {[id: string]: ChatInputAnswer}): ChatInputRequest => ({id: 'r', questions: [name, age], ...(answers ? {answers} : {})});

class Later {
  waiting: {ms: number; run: () => void}[] = [];
  after = (ms: number, run: () => void): (() => void) => {
    const entry = {ms, run};
    this.waiting.push(entry);
    return () => void (this.waiting = this.waiting.filter(other => other !== entry));
  };
  elapse(): void {
    const due = this.waiting;
    this.waiting = [];
    for (const {run} of due) run();
  }
}

let later: Later;
let sent: StateAction[];
const sync = (request = asked()): AnswerSync => new AnswerSync(request, later.after, action => sent.push(action));

beforeEach(() => {
  later = new Later();
  sent = [];
});

describe('answers in the making', () => {
  it('begin with defaults, which nobody is told of', () => {
    expect(sync().answers.value['name']).toEqual(text('nobody'));
    later.elapse();
    expect(sent).toEqual([]);
  });

  it('are told once, when typing pauses', () => {
    const answers = sync();
    answers.set(name, text('A'));
    answers.set(name, text('Ad'));
    expect(later.waiting.map(entry => entry.ms)).toEqual([SHARE_AFTER]);
    later.elapse();
    expect(sent).toEqual([{type: 'chat/inputAnswerChanged', requestId: 'r', questionId: 'name', answer: text('Ad')}]);
  });

  it('are not told while they are none that the host takes', () => {
    const answers = sync();
    answers.set(age, text('4x'));
    later.elapse();
    expect(sent).toEqual([]);
    expect(answers.answers.value['age']).toEqual(text('4x'));
  });

  it('come from other windows into fields that nobody edits here', () => {
    const answers = sync();
    answers.receive(asked({name: text('Bea')}));
    expect(answers.answers.value['name']).toEqual(text('Bea'));
    answers.receive(asked());
    expect(answers.answers.value['name']).toBeUndefined();
  });

  it('never overwrite the field with the focus, which says so', () => {
    const answers = sync();
    answers.focus('name');
    answers.set(name, text('mine'));
    later.elapse();
    answers.receive(asked({name: text('mine')}));
    expect(answers.alsoEdited.value.has('name')).toBe(false);
    answers.receive(asked({name: text('theirs')}));
    expect(answers.answers.value['name']).toEqual(text('mine'));
    expect(answers.alsoEdited.value.has('name')).toBe(true);
    answers.set(name, text('mine again'));
    later.elapse();
    expect(answers.alsoEdited.value.has('name')).toBe(false);
  });

  it('never overwrite what is about to be told', () => {
    const answers = sync();
    answers.set(name, text('mine'));
    answers.receive(asked({name: text('theirs')}));
    expect(answers.answers.value['name']).toEqual(text('mine'));
  });

  it('stay when the host did not take them', () => {
    const lost = sync(asked({name: text('old')}));
    lost.set(name, text('mine'));
    later.elapse();
    // As it will be, and as it was again.
    lost.receive(asked({name: text('mine')}));
    lost.receive(asked({name: text('old'), age: draft({kind: 'number', value: 3})}));
    expect(lost.answers.value['name']).toEqual(text('mine'));
    expect(lost.answers.value['age']).toEqual(draft({kind: 'number', value: 3}));
  });

  it('that were taken can be taken back by another window', () => {
    const answers = new AnswerSync(asked({name: text('old')}), later.after, (_, taken) => taken());
    answers.set(name, text('mine'));
    later.elapse();
    answers.receive(asked({name: text('mine')}));
    answers.receive(asked({name: text('old')}));
    expect(answers.answers.value['name']).toEqual(text('old'));
  });

  it('are told no more once the request is settled', () => {
    const answers = sync();
    answers.set(name, text('mine'));
    answers.close();
    later.elapse();
    expect(sent).toEqual([]);
  });
});
