import {expect, test} from 'vitest';
import {childUri, crumbsOf, parentUri, pathOf, uriOf} from '../../src/browse/paths.ts';

test('the way to a folder', () => {
  expect(crumbsOf('file:///home/my%20things/').map(crumb => [crumb.name, crumb.uri])).toEqual([
    ['/', 'file:///'],
    ['home', 'file:///home'],
    ['my things', 'file:///home/my%20things'],
  ]);
  expect(parentUri('file:///home')).toBe('file:///');
  expect(parentUri('file:///')).toBeUndefined();
});
test('names are encoded, whatever is in them', () => {
  expect(childUri('file:///a/', 'b c#?/%')).toBe('file:///a/b%20c%23%3F%2F%25');
  expect(pathOf('file:///a/b%20c')).toBe('/a/b c');
  expect(pathOf('file:///a/%zz')).toBe('/a/%zz');
});
test('what a person types', () => {
  expect(uriOf('/srv/my app')).toBe('file:///srv/my%20app');
  expect(uriOf('file:///x')).toBe('file:///x');
  expect(uriOf('/srv/../etc')).toBeUndefined();
  expect(uriOf('srv')).toBeUndefined();
});
