/** What is told to somebody who does not look, and when. */
import {beforeEach, describe, expect, test, vi} from 'vitest';
import {Notifier, TELL_AFTER} from '../../src/notify/notifier.ts';
import {LONG_TURN, type Reason, Reasons} from '../../src/notify/reasons.ts';
import {shown} from '../../src/notify/show.ts';
import {type Json, summary} from '../store/fake_host.ts';
import {FakeTimer} from '../store/fake_time.ts';

const S = 'ahp-session:/1';
const [IDLE, ERROR, WORKING, READ] = [1, 2, 8, 32];
const waits = (id: string): Json => ({session: S, chat: 'ahp-chat:/1', since: 0, request: {id, kind: 'toolConfirmation', chat: 'ahp-chat:/1', turnId: 't', toolCall: {toolCallId: id, invocationMessage: 'Run', toolInput: 'npm test'}}});

let timer: FakeTimer;
let reasons: Reasons;
let said: string[];
let isVisible: boolean;
let showing: Promise<void> | undefined;
let notifier: Notifier;

const show = (reason: Reason): Promise<void> | undefined => {
  said.push(`${reason.kind} ${reason.text}`.trim());
  return showing?.then(() => void said.push('shown'));
};
const look = (status: number, waiting: Json[] = []): void => notifier.changed(reasons.look([summary(S, {status})], waiting));

beforeEach(() => {
  timer = new FakeTimer();
  reasons = new Reasons(timer.now);
  said = [];
  isVisible = false;
  showing = undefined;
  notifier = new Notifier(timer, {show, close: () => void said.push('closed'), isVisible: () => isVisible});
});

describe('what waits', () => {
  test('is told though the page does not know its kind', () => {
    look(24, [{...(waits('a') as object), request: {id: 'a', kind: 'levitation', chat: 'ahp-chat:/1'}}]);
    timer.pass(TELL_AFTER);
    expect(said).toEqual(['needsInput']);
  });

  test('is told after a moment, once, and taken back when it is answered', () => {
    look(24, [waits('a')]);
    timer.pass(TELL_AFTER - 1);
    look(24, [waits('a')]);
    expect(said).toEqual([]);
    timer.pass(1);
    timer.pass(10 * TELL_AFTER);
    expect(said).toEqual(['needsInput Run\nnpm test']);
    look(WORKING);
    expect(said.at(-1)).toBe('closed');
  });

  test('is not told when it was answered within that moment', () => {
    look(24, [waits('a')]);
    timer.pass(TELL_AFTER - 1);
    look(WORKING);
    timer.pass(TELL_AFTER);
    expect(said).toEqual([]);
  });

  test('is not told to somebody who looks, and taken back when somebody does', () => {
    isVisible = true;
    look(24, [waits('a')]);
    timer.pass(TELL_AFTER);
    expect(said).toEqual([]);
    isVisible = false;
    look(24, [waits('b')]);
    timer.pass(TELL_AFTER);
    notifier.seen();
    expect(said).toEqual(['needsInput Run\nnpm test', 'closed']);
  });

  test('is taken back once it is shown, not before, though it is answered meanwhile', async () => {
    let isShown = (): void => {};
    showing = new Promise<void>(resolve => {
      isShown = resolve;
    });
    look(24, [waits('a')]);
    timer.pass(TELL_AFTER);
    look(WORKING);
    expect(said).toEqual(['needsInput Run\nnpm test']);
    isShown();
    await vi.waitFor(() => expect(said.slice(1)).toEqual(['shown', 'closed']));
  });

  test('is told with the title that its session has by then', () => {
    const titles: string[] = [];
    notifier = new Notifier(timer, {show: ({title}) => void titles.push(title), close: () => undefined, isVisible: () => false});
    for (const title of ['', 'Fix the race']) notifier.changed(reasons.look([summary(S, {status: 24, title})], [waits('a')] as never));
    timer.pass(TELL_AFTER);
    expect(titles).toEqual(['Fix the race']);
  });
});

test('a turn that fails is told until it is read', () => {
  look(WORKING);
  look(ERROR);
  timer.pass(TELL_AFTER);
  expect(said).toEqual(['failed']);
  look(ERROR | READ);
  expect(said).toEqual(['failed', 'closed']);
});

test.each([[LONG_TURN, []], [LONG_TURN + 1, ['finished']]])('a turn of %i ms that went well', (took, told) => {
  look(WORKING);
  timer.pass(took);
  look(IDLE);
  timer.pass(TELL_AFTER);
  expect(said).toEqual(told);
});

test('what had ended before the page was opened is not told', () => {
  look(ERROR);
  timer.pass(TELL_AFTER);
  expect(said).toEqual([]);
});

test('a notification leads to its chat, and hides nothing', () => {
  const {title, options} = shown({kind: 'needsInput', session: S, title: 'a\u202eb', text: 'rm \u200b-rf'});
  expect(title).toBe('a⟨U+202E⟩b');
  expect(options).toMatchObject({body: 'Needs you\nrm ⟨U+200B⟩-rf', tag: S, data: {to: '/s/1'}});
});
