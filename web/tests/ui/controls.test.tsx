// @vitest-environment happy-dom
import {afterEach, beforeEach, expect, test, vi} from 'vitest';
import {LiveRegion, announce} from '../../src/ui/announce.tsx';
import {ActButton, Button} from '../../src/ui/button.tsx';
import {GUARD, Guarded} from '../../src/ui/guarded.tsx';
import {Outcome} from '../../src/ui/outcome.tsx';
import {Menu} from '../../src/ui/popover.tsx';
import {Sheet} from '../../src/ui/sheet.tsx';
import {Toasts, UNDO_TIME, toast} from '../../src/ui/toast.tsx';
import {type Shown, show} from '../fakes/render.tsx';
import {fakeStore} from '../fakes/store.ts';

let shown: Shown;
let time = 0;
beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(performance, 'now').mockImplementation(() => time);
});
afterEach(() => {
  shown.remove();
  vi.useRealTimers();
  vi.restoreAllMocks();
});

test('a button that cannot be used keeps its focus, says why, and does nothing', () => {
  const pressed = vi.fn();
  shown = show(<Button whyNot="Nothing to send." onClick={pressed}>Send</Button>);
  const button = shown.button('Send');
  button.click();
  expect(pressed).not.toHaveBeenCalled();
  expect([button.getAttribute('aria-disabled'), button.title, button.disabled]).toEqual(['true', 'Nothing to send.', false]);
});

test.each([
  ['while disconnected', {live: 'reconnecting'}, 'Not connected. Nothing is sent until the host is back.'],
  ['for a viewer', {me: {name: 'guest', role: 'viewer'}}, 'You can look, not act.'],
] as const)('a button that acts is unusable %s', (_, states, why) => {
  const pressed = vi.fn();
  shown = show(<ActButton onClick={pressed}>Stop</ActButton>, fakeStore(states));
  shown.button('Stop').click();
  expect(pressed).not.toHaveBeenCalled();
  expect(shown.button('Stop').title).toBe(why);
});

test('a guarded button ignores presses until it has been there for half a second', () => {
  time = 1000;
  const pressed = vi.fn();
  shown = show(<Guarded onClick={pressed}>Allow once</Guarded>);
  time += GUARD - 1;
  shown.button('Allow once').click();
  expect(pressed).not.toHaveBeenCalled();
  time += 1;
  shown.button('Allow once').click();
  expect(pressed).toHaveBeenCalledOnce();
});

test('what the host refused is told at the control, with its reason', () => {
  const store = fakeStore();
  const done = store.act('ahp-chat:/1', {type: 'chat/truncated'} as never);
  shown = show(<Outcome act={done} />, store);
  expect(shown.box.textContent).toBe('');
  shown.doing(() => store.acts[0]?.end('refused', 'a turn is running'));
  expect(shown.find('[role="alert"]').textContent).toBe('The host refused: a turn is running');
  shown.doing(() => store.acts[0]?.end('uncertain'));
  expect(shown.find('[role="alert"]').textContent).toBe('Sent, but the answer was lost. Look before sending again.');
});

test('undo takes a message away without its end being carried out', () => {
  const [undo, ended] = [vi.fn(), vi.fn()];
  shown = show(<Toasts />);
  shown.doing(() => void toast('Session disposed.', {undo, onEnd: ended}));
  shown.doing(() => shown.button('Undo').click());
  vi.advanceTimersByTime(UNDO_TIME);
  expect([undo.mock.calls.length, ended.mock.calls.length, shown.box.textContent]).toEqual([1, 0, '']);
});

test('over a dialog a message is in it, where it can be seen and undone', () => {
  const undo = vi.fn();
  const page = (isOpen: boolean) => <>{isOpen && <Sheet title="Rename" onClose={() => {}}>name</Sheet>}<Toasts /></>;
  shown = show(page(true));
  shown.doing(() => void toast('Session disposed.', {undo}));
  expect(shown.find('dialog').textContent).toContain('Session disposed.');
  expect(shown.box.querySelectorAll('.ui-toast').length).toBe(1);
  shown.again(page(false));
  expect(shown.find('.ui-toast').textContent).toContain('Session disposed.');
  shown.doing(() => shown.button('Undo').click());
  expect([undo.mock.calls.length, shown.box.querySelector('.ui-toast')]).toEqual([1, null]);
});

test('a message that nobody undid goes after eight seconds, and then its end is carried out once', () => {
  const ended = vi.fn();
  shown = show(<Toasts />);
  shown.doing(() => void toast('Session disposed.', {undo: () => {}, onEnd: ended}));
  shown.doing(() => void vi.advanceTimersByTime(UNDO_TIME - 1));
  expect(ended).not.toHaveBeenCalled();
  shown.doing(() => void vi.advanceTimersByTime(1));
  expect([ended.mock.calls.length, shown.box.textContent]).toEqual([1, '']);
});

test('lines for screen readers come five seconds apart, and the newest of those that waited is said', () => {
  shown = show(<LiveRegion />);
  shown.doing(() => {
    announce('Working');
    announce('one');
    announce('two');
  });
  expect(shown.box.textContent).toBe('Working');
  shown.doing(() => void vi.advanceTimersByTime(5000));
  expect(shown.box.textContent).toBe('two');
  vi.advanceTimersByTime(10_000);
});

test('arrows move in a menu, and a choice closes it first', () => {
  const happened: string[] = [];
  const anchor = {current: document.body.appendChild(document.createElement('button'))};
  const items = ['Rename', 'Archive'].map(words => ({id: words, words, run: () => void happened.push(words)}));
  shown = show(<Menu anchor={anchor} label="More" items={items} onClose={() => void happened.push('closed')} />);
  const [first, second] = [...shown.box.querySelectorAll<HTMLElement>('[role="menuitem"]')];
  first?.focus();
  shown.doing(() => void first?.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowDown', bubbles: true})));
  expect(document.activeElement).toBe(second);
  shown.doing(() => second?.click());
  expect(happened).toEqual(['closed', 'Archive']);
});
