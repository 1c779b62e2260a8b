import {expect, test} from 'vitest';
import {sourceFiles} from './source_files.ts';

const COLOUR = /#[0-9a-f]{3,8}\b|\brgba?\(|\bhsla?\(|:\s*(?:white|black|red|green|blue|gr[ae]y)\b/i;

test.each(sourceFiles('.css').filter(file => file.path !== 'src/styles/tokens.css'))('$path takes its colours from the tokens', ({text}) => {
  expect(text.split('\n').filter(line => COLOUR.test(line))).toEqual([]);
});

test.each(sourceFiles('.css').filter(file => file.path !== 'src/styles/tokens.css'))('$path uses tokens that exist', ({text}) => {
  const tokens = sourceFiles('tokens.css')[0]?.text ?? '';
  const named = new Set([...(tokens + text).matchAll(/(--[\w-]+)\s*:/g)].map(found => found[1]));
  // Lengths that move are set by components, under names that say so.
  const used = [...text.matchAll(/var\((--[\w-]+)(?!\s*,)\)/g)].map(found => found[1]).filter(name => !name?.startsWith('--moving-'));
  expect(used.filter(name => !named.has(name))).toEqual([]);
});

test('the dark colours are the same by the device and by choice', () => {
  const tokens = sourceFiles('tokens.css')[0]?.text ?? '';
  const blocks = [...tokens.matchAll(/(:root[^{]*)\{([^}]*)\}/g)].map(([, selector = '', body = '']) => [selector.trim(), body.replace(/\s+/g, ' ').trim()]);
  const byName = Object.fromEntries(blocks) as Record<string, string>;
  expect(byName[':root[data-theme="dark"]']).toBe(byName[':root:not([data-theme="light"])']);
});
