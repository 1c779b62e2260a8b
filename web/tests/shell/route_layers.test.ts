// @vitest-environment happy-dom
import {afterEach, expect, test, vi} from 'vitest';
import {go, pushLayer, route} from '../../src/route.ts';

afterEach(() => vi.restoreAllMocks());
const back = (state: unknown): void => {
  history.replaceState(state, '', location.href);
  dispatchEvent(new PopStateEvent('popstate', {state}));
};

test('Back closes what lies over the page, and the place stays', () => {
  go({at: 'settings', section: 'device'});
  const close = vi.fn();
  pushLayer(close);
  back(null);
  expect(close).toHaveBeenCalledOnce();
  expect(route.value).toEqual({at: 'settings', section: 'device'});
});

test('of two layers Back closes the upper one', () => {
  const [lower, upper] = [vi.fn(), vi.fn()];
  pushLayer(lower);
  const under: unknown = history.state;
  pushLayer(upper);
  back(under);
  expect([lower.mock.calls.length, upper.mock.calls.length]).toEqual([0, 1]);
});

test('going somewhere out of a layer takes its entry, so that no step back is needed', () => {
  vi.useFakeTimers();
  const stepBack = vi.spyOn(history, 'back');
  const drop = pushLayer(() => {});
  const length = history.length;
  drop();
  go({at: 'inspect'});
  vi.runAllTimers();
  vi.useRealTimers();
  expect(stepBack).not.toHaveBeenCalled();
  expect([history.length, history.state, route.value.at]).toEqual([length, null, 'inspect']);
});

test('a layer that is closed by itself leaves no entry behind', () => {
  vi.useFakeTimers();
  const stepBack = vi.spyOn(history, 'back').mockImplementation(() => {});
  pushLayer(() => {})();
  vi.runAllTimers();
  vi.useRealTimers();
  expect(stepBack).toHaveBeenCalledOnce();
});
