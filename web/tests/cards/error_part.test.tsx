// @vitest-environment happy-dom
import {afterEach, expect, it} from 'vitest';
import type {ResponsePart} from '../../src/ahp/index.ts';
import {ErrorPart} from '../../src/cards/error_part.tsx';
import {type Shown, show} from '../fakes/render.tsx';
import {fakeStore} from '../fakes/store.ts';

const at = {session: 'ahp-session:/s', chat: 'ahp-chat:/c', turn: 't', index: 0};
const STACK = 'Traceback (most recent call last):\n  File "agent.py", line 3, in run\n\u202eKeyError: <b>no</b>';

let shown: Shown;
const open = (stack?: string): void => {
  const part = {kind: 'error', error: {errorType: 'KeyError', message: 'the agent failed (KeyError)', ...(stack && {stack})}} as ResponsePart;
  shown = show(<ErrorPart part={part} at={at} running={false} />, fakeStore());
};
afterEach(() => shown.remove());

it('shows how an agent failed folded below the error, with nothing hidden in it', () => {
  open(STACK);
  expect(shown.find('.cards-error-text').textContent).toBe('the agent failed (KeyError)');
  const details = shown.find<HTMLDetailsElement>('details');
  expect(details.open).toBe(false);
  expect(details.querySelector('pre')!.textContent).toBe(STACK.replace('\u202e', '⟨U+202E⟩'));
  expect(details.querySelector('b')).toBe(null);
});

it('folds nothing where there is nothing more to tell', () => {
  open();
  expect(shown.box.querySelector('details')).toBe(null);
});
