// @vitest-environment happy-dom
import {afterEach, expect, test, vi} from 'vitest';
import {ErrorBoundary} from '../../src/ui/error_boundary.tsx';
import {type Shown, show} from '../fakes/render.tsx';

let shown: Shown;
let broken = true;
const Row = () => {
  if (broken) throw new Error('broken row');
  return <i>whole</i>;
};
afterEach(() => {
  shown.remove();
  broken = true;
  vi.restoreAllMocks();
});

test('a row that throws says so, and its neighbours stay', () => {
  vi.spyOn(console, 'error').mockImplementation(() => {});
  shown = show(<div><ErrorBoundary><Row /></ErrorBoundary><b>neighbour</b></div>);
  expect(shown.box.textContent).toContain('This part could not be shown.');
  expect(shown.find('b').textContent).toBe('neighbour');
  broken = false;
  shown.doing(() => shown.button('Show again').click());
  expect(shown.find('i').textContent).toBe('whole');
});

test('other content is tried anew', () => {
  vi.spyOn(console, 'error').mockImplementation(() => {});
  shown = show(<ErrorBoundary of={1}><Row /></ErrorBoundary>);
  broken = false;
  shown.again(<ErrorBoundary of={2}><Row /></ErrorBoundary>);
  expect(shown.find('i').textContent).toBe('whole');
});
