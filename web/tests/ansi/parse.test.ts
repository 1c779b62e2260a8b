import fc from 'fast-check';
import {describe, expect, it} from 'vitest';
import {ansiLines, stripped} from '../../src/ansi/parse.ts';

const E = '\u001b';

describe('ansiLines', () => {
  it('gives plain text as it is', () => {
    expect(ansiLines('one\n\ttwo\n\nthree\n')).toEqual([[{text: 'one'}], [{text: '\ttwo'}], [], [{text: 'three'}]]);
  });

  it('keeps colours over lines, until they are reset', () => {
    const lines = ansiLines(`${E}[1;31mred\nstill${E}[0m plain`);
    expect(lines[0]).toEqual([{text: 'red', style: {classes: 'ansi-bold ansi-fg-1'}}]);
    expect(lines[1]?.map(span => [span.text, span.style?.classes])).toEqual([['still', 'ansi-bold ansi-fg-1'], [' plain', undefined]]);
  });

  it('knows bright colours, 256 and true colour', () => {
    const styles = ansiLines(`${E}[92ma${E}[38;5;196mb${E}[48;2;1;2;3mc${E}[39;49md${E}[38;5;3me`)[0]?.map(span => span.style);
    expect(styles).toEqual([
      {classes: 'ansi-fg-10'},
      {classes: '', color: 'rgb(255 0 0)'},
      {classes: '', color: 'rgb(255 0 0)', background: 'rgb(1 2 3)'},
      undefined,
      {classes: 'ansi-fg-3'},
    ]);
  });

  it('inverts, also where no colour is set', () => {
    expect(ansiLines(`${E}[7mx`)[0]?.[0]?.style?.classes).toBe('ansi-fg-back ansi-bg-front');
  });

  it('writes over a line like a terminal', () => {
    expect(stripped('10%\r20%\r100%\n')).toBe('100%');
    expect(stripped(`long text\rab${E}[K`)).toBe('ab');
    expect(stripped(`gone${E}[2K\rnew`)).toBe('new');
    expect(stripped('abc\b\bX')).toBe('aXc');
    expect(stripped('a\r\nb\r\n')).toBe('a\nb');
  });

  it('drops titles, clipboards, links, device strings and cursor moves', () => {
    const evil = `${E}]0;title\u0007a${E}]52;c;ZXZpbA==${E}\\b${E}]8;;javascript:alert(1)${E}\\c${E}]8;;${E}\\${E}Pq#0${E}\\d${E}[2J${E}[10;10He\u0000\u0085`;
    expect(stripped(evil)).toBe('abcde');
  });

  it('shows no more of a line than a screen can bear', () => {
    expect(ansiLines('x'.repeat(1_000_000))[0]?.[0]?.text.length).toBe(4096);
    expect(stripped(`${E}[31m${'x'.repeat(1_000_000)}`).length).toBe(4096);
  });

  it('never shows a control character, whatever comes', () => {
    const bits = fc.constantFrom('a', 'é', '😀', '\n', '\r', '\b', '\t', E, `${E}[`, `${E}]`, ';', '3', '1', 'm', 'K', '\u0007', '\u009b', '\u0090', '\\', '38;5;', '38;2;');
    fc.assert(
      fc.property(fc.array(bits, {maxLength: 60}), parts => {
        for (const line of ansiLines(parts.join(''))) for (const span of line) expect(span.text).not.toMatch(/[^\t\u0020-\u007e\u00a0-\uffff]/);
      }),
    );
  });
});
