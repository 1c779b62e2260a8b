// @vitest-environment happy-dom
import {afterEach, beforeEach, describe, expect, it, vi} from 'vitest';
import type {ChatInputRequest, Json, ResponsePart} from '../../src/ahp/index.ts';
import '../../src/cards/index.ts';
import {RequestForm, RequestPart} from '../../src/cards/questions/request.tsx';
import {type Shown, show} from '../fakes/render.tsx';
import {fakeStore} from '../fakes/store.ts';

const CHAT = 'ahp-chat:/c';
let id = 0;
const at = () => ({session: 'ahp-session:/s', chat: CHAT, turn: 't', index: 0, request: `r${id}`});
const asked = (questions: object[], more: object = {}): ChatInputRequest => ({id: `r${id}`, message: 'A few questions', questions, ...more}) as ChatInputRequest;
const NAME = {id: 'name', kind: 'text', message: 'What is your name?', required: true, min: 1, max: 40};
const AGE = {id: 'age', kind: 'integer', message: 'How old?', min: 0};
const HAPPY = {id: 'happy', kind: 'boolean', message: 'Happy?', defaultValue: true};
const COLOUR = {id: 'colour', kind: 'single-select', message: 'Which?', allowFreeformInput: true, options: [{id: 'r', label: 'red', recommended: true}, {id: 'g', label: 'green'}]};
const FRUIT = {id: 'fruit', kind: 'multi-select', message: 'Fruit?', max: 2, options: ['apple', 'pear', 'plum'].map(name => ({id: name, label: name}))};

let shown: Shown;
let clock = 0;
function open(request: ChatInputRequest): void {
  shown = show(<RequestForm request={request} at={at()} />, fakeStore());
  clock += 1000;
}
const field = (question: string): HTMLInputElement => shown.find<HTMLInputElement>(`[data-question="${question}"] input`);
function type(question: string, text: string): void {
  shown.doing(() => {
    field(question).value = text;
    field(question).dispatchEvent(new Event('input', {bubbles: true}));
  });
}
const press = (name: string): void => shown.doing(() => shown.button(name).click());
const settled = (): Json => shown.store.acts.filter(act => act.action.type === 'chat/inputCompleted').at(-1)?.action as Json;

beforeEach(() => {
  id += 1;
  vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout']});
  vi.spyOn(performance, 'now').mockImplementation(() => clock);
});
afterEach(() => {
  shown.remove();
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe('a question about servers', () => {
  const servers = Array.from({length: 300}, (_, index) => `server${index}: npx -y server-${index} --token *** \u202e`);
  const trust = (): ChatInputRequest => asked([{id: 'trust', kind: 'single-select', title: 'Start them?', message: [...servers, 'They run on this host.'].join('\n'), options: ['Start them', 'Not in this session'].map(label => ({id: label, label}))}], {id: `trust-${id}`, message: 'Start 300 MCP servers that /work/shop declares?'});

  it('shows each command for itself, with nothing hidden, and is answered like any other', () => {
    open(trust());
    expect(shown.find('h2').textContent).toBe('Start 300 MCP servers that /work/shop declares?');
    const lines = [...shown.box.querySelectorAll('.cards-lines.exact p')].map(line => line.textContent);
    expect(lines.length).toBe(201);
    expect(lines[1]).toBe('server1: npx -y server-1 --token *** ⟨U+202E⟩');
    expect(lines.at(-1)).toBe('and 101 more lines');
    // What is read out as the question is no list of commands.
    expect(shown.box.querySelector(`[id="${shown.find('[role="radiogroup"]').getAttribute('aria-labelledby')}"]`)?.textContent?.trim()).toBe('Start them?');
    shown.doing(() => shown.find<HTMLInputElement>('input[type="radio"]').click());
    press('Answer');
    expect(settled()).toMatchObject({requestId: `trust-${id}`, response: 'accept', answers: {trust: {value: {value: 'Start them'}}}});
  });
});

describe('questions', () => {
  it('of several lines keep them, and say none twice', () => {
    open(asked([{id: 'go', kind: 'boolean', message: 'Go on?\nIt takes an hour.'}], {message: undefined}));
    expect(shown.find('h2').textContent).toBe('Go on?');
    expect([...shown.box.querySelectorAll('.cards-lines p')].map(line => line.textContent)).toEqual(['It takes an hour.']);
  });

  it('of which a viewer can answer none say so, and take nothing', () => {
    shown = show(<RequestForm request={asked([NAME, HAPPY])} at={at()} />, fakeStore({me: {name: 'guest', role: 'viewer'}}));
    clock += 1000;
    expect(shown.box.textContent).toContain('You can look, not act.');
    shown.doing(() => shown.button('No').click());
    vi.runAllTimers();
    expect(shown.store.acts).toEqual([]);
    expect(shown.find<HTMLFieldSetElement>('fieldset').disabled).toBe(true);
  });

  it('are answered all at once, with defaults, and what was left open is skipped', () => {
    open(asked([NAME, AGE, HAPPY, COLOUR, FRUIT]));
    type('name', 'Ada');
    shown.doing(() => shown.find<HTMLInputElement>('[data-question="fruit"] input').click());
    press('Answer');
    expect(settled()).toEqual({
      type: 'chat/inputCompleted',
      requestId: `r${id}`,
      response: 'accept',
      answers: {
        name: {state: 'submitted', value: {kind: 'text', value: 'Ada'}},
        age: {state: 'skipped'},
        happy: {state: 'submitted', value: {kind: 'boolean', value: true}},
        colour: {state: 'skipped'},
        fruit: {state: 'submitted', value: {kind: 'selected-many', value: ['apple']}},
      },
    });
  });

  it('that must be answered say so, and nothing is sent', () => {
    open(asked([NAME, AGE]));
    type('age', '1.5');
    press('Answer');
    expect(settled()).toBeUndefined();
    expect([...shown.box.querySelectorAll('.cards-problem')].map(problem => problem.textContent)).toEqual(['This one must be answered.', 'Not a whole number.']);
    expect(document.activeElement).toBe(field('name'));
  });

  it.each([['Decline', 'decline'], ['Skip', 'cancel']])('are left by %s', (button, response) => {
    open(asked([NAME]));
    press(button);
    expect(settled()).toEqual({type: 'chat/inputCompleted', requestId: `r${id}`, response});
  });

  it('take other words instead of an option', () => {
    open(asked([COLOUR]));
    const radios = [...shown.box.querySelectorAll<HTMLInputElement>('input[type=radio]')];
    expect(shown.box.textContent).toContain('recommended');
    shown.doing(() => radios.at(-1)!.click());
    const other = shown.find<HTMLInputElement>('.cards-other .cards-field');
    shown.doing(() => {
      other.value = 'teal';
      other.dispatchEvent(new Event('input', {bubbles: true}));
    });
    press('Answer');
    expect(settled().answers.colour.value).toEqual({kind: 'selected', value: '', freeformValues: ['teal']});
  });

  it('share what is typed, and keep a number as it is typed', () => {
    open(asked([AGE]));
    type('age', '4');
    shown.doing(() => void vi.advanceTimersByTime(300));
    expect(shown.store.acts[0]?.action).toMatchObject({type: 'chat/inputAnswerChanged', questionId: 'age', answer: {state: 'draft', value: {kind: 'number', value: 4}}});
    type('age', '4.');
    expect(field('age').value).toBe('4.');
  });

  it('show what another window types, but not into the focused field', () => {
    const theirs = (text: string): object => ({answers: {name: {state: 'draft', value: {kind: 'text', value: text}}}});
    open(asked([NAME]));
    shown.again(<RequestForm request={asked([NAME], theirs('Bea'))} at={at()} />);
    expect(field('name').value).toBe('Bea');
    shown.doing(() => field('name').focus());
    shown.doing(() => void field('name').dispatchEvent(new FocusEvent('focusin', {bubbles: true})));
    shown.again(<RequestForm request={asked([NAME], theirs('Cleo'))} at={at()} />);
    expect(field('name').value).toBe('Bea');
    expect(shown.box.textContent).toContain('Also edited in another window');
  });

  it('of more than seven options are filtered', () => {
    const options = Array.from({length: 9}, (_, n) => ({id: `o${n}`, label: `option ${n}`}));
    open(asked([{...COLOUR, options, allowFreeformInput: false}]));
    const search = shown.find<HTMLInputElement>('input[type=search]');
    shown.doing(() => {
      search.value = '7';
      search.dispatchEvent(new Event('input', {bubbles: true}));
    });
    expect(shown.box.querySelectorAll('input[type=radio]')).toHaveLength(1);
  });

  it('of a kind that this page does not know are named, and can be skipped', () => {
    open(asked([{id: 'x', kind: 'hologram', message: 'Wave'}]));
    expect(shown.box.textContent).toContain('This page does not know hologram.');
    press('Answer');
    expect(settled().answers).toEqual({x: {state: 'skipped'}});
  });

  it('with an address show it whole, and open nothing strange', () => {
    open(asked([], {url: 'javascript:alert(1)'}));
    expect(shown.find('.cards-address code').textContent).toBe('javascript:alert(1)');
    expect(shown.box.textContent).toContain('This page does not open such an address.');
    press('Done');
    expect(settled()).toMatchObject({response: 'accept'});
  });
});

it('settled questions show what was answered', () => {
  const request = asked([COLOUR, HAPPY], {answers: {colour: {state: 'submitted', value: {kind: 'selected', value: 'g'}}, happy: {state: 'skipped'}}});
  shown = show(<RequestPart part={{kind: 'inputRequest', request, response: 'accept'} as ResponsePart} at={at()} running />);
  expect(shown.find('.cards-settled').textContent).toBe('A few questions AnsweredWhich?greenHappy?skipped');
});
