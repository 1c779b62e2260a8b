import fc from 'fast-check';
import {expect, it} from 'vitest';
import {indented} from '../../src/cards/tool_source.ts';

const bare = (text: string): string => text.replaceAll(/[ \t\r\n]/g, '');

it('JSON means the same on lines of its own', () => {
  fc.assert(fc.property(fc.jsonValue(), fc.nat(4), (value, space) => {
    const text = JSON.stringify(value, null, space);
    expect(JSON.parse(indented(text))).toEqual(JSON.parse(text));
  }));
});

it('of any text, every character that is seen stays', () => {
  fc.assert(fc.property(fc.array(fc.integer({min: 0, max: 0x10ffff})).map(points => String.fromCodePoint(...points)), text => void expect(bare(indented(`{${text}`))).toBe(bare(`{${text}`))));
  fc.assert(fc.property(fc.array(fc.constantFrom('{', '}', '[', ']', ',', ':', '"', '\\\\', ' ', '\n', 'a')), signs => void expect(bare(indented(`[${signs.join('')}`))).toBe(bare(`[${signs.join('')}`))));
});

it.each(['npm test', '', '  ', 'x{'])('%j is left as it is', text => void expect(indented(text)).toBe(text));
