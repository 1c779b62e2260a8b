// @vitest-environment happy-dom
/** The inspector: what it keeps, what it says of a frame, and what a person can do with it. */
import {beforeEach, describe, expect, test, vi} from 'vitest';
import {laidOut, line, matching, questions} from '../../src/inspect/model.ts';
import {InspectPage} from '../../src/inspect/page.tsx';
import {type Frame, MOST_FRAMES, Tap} from '../../src/link/tap.ts';
import {tap} from '../../src/store/open.ts';
import {show} from '../fakes/render.tsx';

const frame = (text: string): Frame => ({id: 1, at: 0, way: 'in', text, length: text.length});

test('the ring keeps the newest frames, in order', () => {
  const ring = new Tap(() => 0);
  for (let at = 0; at < MOST_FRAMES + 10; at += 1) ring.add('in', String(at));
  const texts = ring.frames().map(({text}) => text);
  expect([texts.length, texts[0], texts.at(-1)]).toEqual([MOST_FRAMES, '10', String(MOST_FRAMES + 9)]);
});

test('a long frame is cut, and says how long it was', () => {
  const ring = new Tap(() => 0);
  ring.add('in', 'x'.repeat(50_000));
  expect(ring.frames()[0]).toMatchObject({length: 50_000, text: 'x'.repeat(20_000)});
});

describe('a line says', () => {
  test.each([
    ['{"jsonrpc":"2.0","method":"action","params":{"channel":"ahp-chat:/1","serverSeq":4,"action":{"type":"chat/delta"}}}', 'action', 'chat/delta · ahp-chat:/1', false],
    ['{"jsonrpc":"2.0","id":7,"method":"subscribe","params":{"channel":"ahp-session:/1"}}', 'subscribe', 'ahp-session:/1', false],
    ['{"jsonrpc":"2.0","id":7,"result":{"error":{}}}', 'answer 7', '', false],
    ['{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"no"}}', 'error 7', '', true],
    ['{"method":"action","params":{"cut', 'action', '', false],
  ])('of %s', (text, what, about, isError) => {
    expect(line(frame(text))).toMatchObject({what, about, isError});
  });
});

test('an answer says what was asked', () => {
  const asked = questions([{...frame('{"jsonrpc":"2.0","id":7,"method":"subscribe","params":{}}'), way: 'out'}, frame('{"id":8,"method":"theirs"}')]);
  expect(line(frame('{"jsonrpc":"2.0","id":7,"result":{}}'), asked).about).toBe('subscribe');
  expect(line(frame('{"jsonrpc":"2.0","id":8,"result":{}}'), asked).about).toBe('');
});

test('a filter finds frames with all its words', () => {
  const frames = [frame('{"method":"ping"}'), frame('{"method":"subscribe","params":{"channel":"ahp-chat:/1"}}')];
  expect(matching(frames, 'AHP-CHAT subscribe')).toEqual([frames[1]]);
  expect(matching(frames, 'ping chat')).toEqual([]);
  expect(matching(frames, ' ')).toBe(frames);
});

test('whole JSON is laid out, the rest stays as it is', () => {
  expect(laidOut(frame('{"a":1}'))).toBe('{\n  "a": 1\n}');
  expect(laidOut(frame('{"a":'))).toBe('{"a":');
});

describe('the page', () => {
  beforeEach(() => {
    vi.useFakeTimers();
    tap.clear();
  });

  test('counts what comes, and stands still while paused', () => {
    tap.add('in', '{"method":"one"}');
    const page = show(<InspectPage />);
    expect(page.find('[role=status]').textContent).toBe('1 message');
    page.doing(() => page.button('Pause').click());
    tap.add('out', '{"method":"two"}');
    page.doing(() => vi.advanceTimersByTime(1_000));
    expect(page.find('[role=status]').textContent).toBe('Paused. 1 more since.');
    page.doing(() => page.button('Resume').click());
    expect(page.find('[role=status]').textContent).toBe('2 messages');
    page.doing(() => page.button('Clear').click());
    expect(page.box.textContent).toContain('No messages yet.');
    page.remove();
    vi.useRealTimers();
  });
});
