import {posix} from 'node:path';
import {expect, test} from 'vitest';
import {sourceFiles} from './source_files.ts';

// What would run or show a host's text as a program, what needs a secure context, and storage that signing out would not find.
const FORBIDDEN: readonly [pattern: RegExp, mayUse: string | undefined][] = [
  [/innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|createContextualFragment|DOMParser/, undefined],
  [/document\.write|srcdoc|setHTMLUnsafe/, undefined],
  [/\beval\(|new Function\b/, undefined],
  [/createPolicy\(/, 'src/ui/safe.tsx'],
  [/crypto\.randomUUID/, undefined],
  [/\blocalStorage\b/, 'src/store/device.ts'],
  [/\bstyle="/, undefined],
];

// Comments may name what the code must not use.
const withoutComments = (text: string): string => text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '$1');

test.each(sourceFiles('.ts', '.tsx'))('$path uses nothing forbidden', ({path, text}) => {
  const code = withoutComments(text);
  const found = FORBIDDEN.filter(([pattern, mayUse]) => pattern.test(code) && mayUse !== path).map(([pattern]) => pattern.source);
  expect(found).toEqual([]);
});

test.each(sourceFiles('.ts', '.tsx').filter(file => file.path !== 'src/ahp/types.ts'))('$path has at most 400 lines', ({text}) => {
  expect(text.split('\n').length).toBeLessThanOrEqual(401);
});

test('the core knows nothing but itself', () => {
  for (const {path, text} of sourceFiles('.ts').filter(file => file.path.startsWith('src/ahp/'))) {
    const imported = [...text.matchAll(/(?:from|import) '([^']+)'/g)].map(found => found[1] ?? '');
    expect(imported.filter(name => !posix.join(posix.dirname(path), name).startsWith('src/ahp/')), path).toEqual([]);
  }
});
