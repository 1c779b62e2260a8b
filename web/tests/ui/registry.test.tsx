// @vitest-environment happy-dom
import {afterEach, expect, test} from 'vitest';
import {Registry} from '../../src/ui/registry.tsx';
import {type Shown, show} from '../fakes/render.tsx';

let shown: Shown;
afterEach(() => shown.remove());

test('a kind that nobody registered is named, with its data folded', () => {
  const views = new Registry<{part: {kind: string; text: string}}>();
  const View = views.get('hologram');
  shown = show(<View part={{kind: 'hologram', text: '<b>hi</b>'}} />);
  expect(shown.find('summary').textContent).toBe('This page does not know hologram.');
  expect(shown.find<HTMLDetailsElement>('details').open).toBe(false);
  expect(shown.find('pre').textContent).toContain('<b>hi</b>');
});

test('a registered kind has its own view, an unknown one the same at every look', () => {
  const views = new Registry<{part: string}>();
  const Own = ({part}: {part: string}) => <i>{part}</i>;
  views.set('own', Own);
  expect(views.get('own')).toBe(Own);
  expect(views.get('other')).toBe(views.get('other'));
  shown = show(<Own part="x" />);
});
