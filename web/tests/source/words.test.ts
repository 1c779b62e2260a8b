import {parseAst} from 'rolldown/parseAst';
import {expect, test} from 'vitest';
import {sourceFiles} from './source_files.ts';

const NAMES = new Set(['aria-label', 'aria-description', 'aria-placeholder', 'aria-valuetext', 'title', 'placeholder', 'alt', 'label', 'summary']);
const isWords = (text: unknown): text is string => typeof text === 'string' && /\p{L}{2}/u.test(text);

interface Node {
  readonly type: string;
  readonly [key: string]: unknown;
}

/** Texts for people that stand in a component instead of in the words. */
function texts(node: unknown): string[] {
  if (Array.isArray(node)) return node.flatMap(texts);
  if (typeof node !== 'object' || node === null) return [];
  const each = node as Node;
  const own = ownText(each);
  return own === undefined ? Object.values(each).flatMap(texts) : [own];
}

function ownText(node: Node): string | undefined {
  if (node.type === 'JSXText') return isWords(node['value']) ? node['value'].trim() : undefined;
  if (node.type === 'JSXExpressionContainer') {
    const inside = node['expression'] as Node;
    return inside.type === 'Literal' && isWords(inside['value']) && /\s/.test(inside['value'].trim()) ? inside['value'] : undefined;
  }
  if (node.type !== 'JSXAttribute') return undefined;
  const value = node['value'] as Node | null;
  const name = (node['name'] as Node)['name'];
  return value?.type === 'Literal' && NAMES.has(String(name)) && isWords(value['value']) ? value['value'] : undefined;
}

test.each(sourceFiles('.tsx'))('$path has its texts in the words', ({text}) => {
  expect(texts(parseAst(text, {lang: 'tsx'}))).toEqual([]);
});

test('the search finds text, names and literals', () => {
  const found = texts(parseAst('const a = <p title="A name">Some text {"more text"} {b} <i class="not words">x</i></p>', {lang: 'tsx'}));
  expect(found).toEqual(['A name', 'Some text', 'more text']);
});
