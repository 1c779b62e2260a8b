import fc from 'fast-check';
import {describe, expect, it} from 'vitest';
import {type Block, inlineOf, lexed} from '../../src/markdown/lex.ts';
import {StreamedMarkdown} from '../../src/markdown/stream.ts';

const shape = (blocks: readonly Block[]): string[] => blocks.map(block => `${block.token?.type ?? block.plain?.as}|${block.raw.trimEnd()}`);

function streamed(text: string, size: number, o: {finish?: boolean} = {}): StreamedMarkdown {
  const stream = new StreamedMarkdown();
  for (let end = size; end < text.length; end += size) stream.show(text.slice(0, end));
  stream.show(text);
  if (o.finish) stream.finish();
  return stream;
}

const shownBy = (stream: StreamedMarkdown): Block[] => [...stream.blocks, ...stream.open];

function whole(text: string): string[] {
  const stream = new StreamedMarkdown();
  stream.show(text);
  stream.finish();
  return shape(stream.blocks);
}

const DOCUMENTS = {
  loose: '- one\n\n- two\n\n  more of two\n\n- three\n\nafter\n',
  nested: '1. a\n\n   ```js\n   x\n   ```\n\n2. b\n\npara\n',
  setext: 'Title\n===\n\ntext\n\nSub\n---\n\nx\n',
  fence: 'a\n\n```py\nx = 1\n\ny\n```\n\nb\n',
  quote: '> a\n> b\n\n> c\n\nx\n',
  table: 'a\n\n| x | y |\n|---|---|\n| 1 | 2 |\n\nb\n',
  rule: 'a\n\n---\n\nb\n',
  code: 'a\n\n    indented\n\n    more\n\nb\n',
  html: '<div>\n\ntext\n\n</div>\n\nx\n',
  bullets: 'a\n- b\n- c\nd\n\n* e\n+ f\n',
  heads: '# a\n## b\ntext\n# c\n',
  definition: '[a]\n\n[a]: http://x\n\nb\n',
  lines: '- x\ntext\n\n- y\n\n\n- z\n',
};
const BITS = ['text ', 'more words\n', '\n', '\n\n', '- item\n', '  cont\n', '1. num\n', '   deep\n', '```\n', 'code line\n', '# h\n', '> q\n', '---\n', '===\n', '| a | b |\n', '|---|---|\n', '    ind\n', '<div>\n', '</div>\n', '* star\n', '\t- tab\n', '~~~\n', '[a]: http://x\n'];
const anyDocument = fc.array(fc.constantFrom(...BITS), {minLength: 2, maxLength: 15}).map(bits => bits.join(''));

describe('streamed text gives the blocks of the whole text', () => {
  for (const [name, text] of Object.entries(DOCUMENTS)) {
    it(`${name}, however it is cut`, () => {
      for (const size of [1, 2, 3, 5, 7, 11]) expect(shape(shownBy(streamed(text, size)))).toEqual(whole(text));
    });
  }

  it('any text, once it is finished', () => {
    fc.assert(
      fc.property(anyDocument, fc.integer({min: 1, max: 9}), (text, size) => {
        expect(shape(streamed(text, size, {finish: true}).blocks)).toEqual(whole(text));
      }),
      {numRuns: 400},
    );
  });

  it('nearly any text, before it is finished', () => {
    const texts = fc.sample(anyDocument, {numRuns: 1000, seed: 7});
    const differing = texts.filter((text, index) => JSON.stringify(shape(shownBy(streamed(text, 1 + (index % 9))))) !== JSON.stringify(whole(text)));
    expect(differing.length).toBeLessThanOrEqual(10);
  });

  it('leaves blocks alone that are over', () => {
    fc.assert(
      fc.property(anyDocument, fc.integer({min: 1, max: 9}), (text, size) => {
        const stream = new StreamedMarkdown();
        let before: Block[] = [];
        for (let end = size; end < text.length; end += size) {
          stream.show(text.slice(0, end));
          expect(stream.blocks.slice(0, before.length).every((block, index) => block === before[index])).toBe(true);
          before = [...stream.blocks];
        }
      }),
      {numRuns: 200},
    );
  });

  it('keeps the blocks it had when finishing changes nothing', () => {
    const stream = streamed(DOCUMENTS.loose, 3);
    const ids = shownBy(stream).map(block => block.id);
    stream.finish();
    expect(stream.blocks.map(block => block.id)).toEqual(ids);
  });

  it('starts over with another text', () => {
    const stream = new StreamedMarkdown();
    stream.show('one\n\ntwo');
    stream.show('three');
    expect(shape(shownBy(stream))).toEqual(['paragraph|three']);
  });

  it('takes the line ends of Windows, cut in two', () => {
    expect(shape(streamed('a\r\n\r\n- b\r\n- c\r\n', 2, {finish: true}).blocks)).toEqual(['paragraph|a', 'list|- b\n- c']);
  });
});

describe('half-typed marks', () => {
  it('are completed while the block is open', () => {
    const stream = new StreamedMarkdown();
    stream.show('some **bold');
    expect(stream.open[0]?.raw).toBe('some **bold**');
    stream.show('some **bold** text');
    expect(stream.open[0]?.raw).toBe('some **bold** text');
  });

  it('do not make links that lead nowhere', () => {
    const stream = new StreamedMarkdown();
    stream.show('see [the page](https://exam');
    expect(stream.open[0]?.raw).toBe('see the page');
  });
});

describe('long texts', () => {
  it('one endless paragraph becomes plain pieces, none lost', () => {
    const text = Array.from({length: 4000}, (_, index) => `${index} `.padEnd(24, '.')).join('');
    const stream = streamed(text, 480);
    expect(shownBy(stream).every(block => block.plain !== undefined && block.raw.length <= 4097)).toBe(true);
    expect(shownBy(stream).map(block => block.raw).join('')).toBe(text);
    expect(stream.sections.length).toBeGreaterThan(4);
  });

  it('a paragraph behind a long one is formatted again', () => {
    const stream = streamed(`${'word '.repeat(2000)}\n\n# after\n\nend`, 97);
    const blocks = shownBy(stream);
    expect(blocks.at(-1)?.token?.type).toBe('paragraph');
    expect(blocks.at(-2)?.token?.type).toBe('heading');
  });

  it('a long fence ends with a line of its own ticks only', () => {
    const code = 'let a = "```";\n```js inside\n'.repeat(400);
    const stream = streamed(`\`\`\`\`ts\n${code}\`\`\`\`\n\nafter`, 64);
    const pieces = shownBy(stream).filter(block => block.plain?.as === 'code');
    expect(pieces.map(block => block.raw).join('')).toBe(code);
    expect(pieces.map(block => block.plain?.isFirst)).toEqual(pieces.map((_, index) => index === 0));
    expect(pieces[0]?.plain?.lang).toBe('ts');
    expect(stream.groupText(pieces[0]?.plain?.group ?? -1)).toBe(code);
    expect(shownBy(stream).at(-1)?.raw).toBe('after');
  });

  it('shows the line that may be the end while it is not complete', () => {
    const stream = streamed(`\`\`\`\n${'line of code\n'.repeat(500)}`, 200);
    stream.show(`\`\`\`\n${'line of code\n'.repeat(500)}\`\``);
    expect(stream.open[0]?.raw.endsWith('\n``')).toBe(true);
  });

  it('a long ordered list goes on counting in the next piece', () => {
    const text = Array.from({length: 900}, (_, index) => `1. item ${index} ${'x'.repeat(20)}`).join('\n');
    const lists = shownBy(streamed(text, 333)).map(block => block.token as {start: number; items: unknown[]});
    expect(lists.length).toBeGreaterThan(2);
    let next = 1;
    for (const list of lists) {
      expect(list.start).toBe(next);
      next += list.items.length;
    }
    expect(next).toBe(901);
  });

  it('a long table keeps its header in every piece', () => {
    const text = `| a | b |\n|---|---|\n${'| one | two and more |\n'.repeat(1500)}`;
    const stream = streamed(text, 333, {finish: true});
    const tables = stream.blocks.map(block => block.token as {header: unknown[]; rows: unknown[]});
    expect(tables.every(table => table.header.length === 2)).toBe(true);
    expect(tables.reduce((sum, table) => sum + table.rows.length, 0)).toBe(1500);
  });
});

function longestStep(text: string): number {
  const stream = new StreamedMarkdown();
  let worst = 0;
  for (let end = 512; end < text.length + 512; end += 512) {
    const start = performance.now();
    stream.show(text.slice(0, end));
    for (const block of stream.open) inlineOf(block.raw, {});
    worst = Math.max(worst, performance.now() - start);
  }
  return worst;
}

describe('texts made to hurt', () => {
  const N = 4096;
  const cases: Record<string, string> = {
    brackets: '['.repeat(N), bang: '!['.repeat(N / 2), stars: '*a '.repeat(N / 3), starstar: '**a'.repeat(N / 3), under: '_a'.repeat(N / 2),
    ticks: Array.from({length: 90}, (_, index) => `${'`'.repeat(index)} `).join(''), lt: '<a '.repeat(N / 3), quote: '>'.repeat(N), quotes: `${'> '.repeat(400)}x`,
    list: Array.from({length: 60}, (_, index) => `${' '.repeat(2 * index)}- x`).join('\n'), marks: `${'- '.repeat(1000)}x`, numbers: `${'1. '.repeat(1000)}x`,
    pipes: `${'|'.repeat(N)}\n${'|-'.repeat(N / 2)}`, table: `${'|a'.repeat(60)}|\n${'|-'.repeat(60)}|\n${`${'|b'.repeat(60)}|\n`.repeat(30)}`,
    links: '[a]('.repeat(N / 4), refs: '[a]: <'.repeat(600), html: '<!--'.repeat(N / 4), entity: '&'.repeat(N), url: 'http://'.repeat(500), email: 'a@'.repeat(N / 2),
    tilde: '~~a'.repeat(N / 3), hash: '# '.repeat(N / 2), blank: ' \n'.repeat(N / 2), back: '\\'.repeat(N),
  };
  for (const [name, text] of Object.entries(cases)) {
    it(`${name}: no step is long, nothing throws`, () => {
      // The best of three: this machine may do other things as well. Unbounded ways take ten times as long.
      const worst = [0, 1, 2].reduce(best => (best < 100 ? best : Math.min(best, longestStep(text.repeat(4)))), Infinity);
      expect(worst).toBeLessThan(300);
    });
  }

  it('deep quotes stay plain', () => {
    expect(lexed('>'.repeat(4096))).toBeUndefined();
    expect(lexed('-'.repeat(300))?.[0]?.type).toBe('hr');
  });
});
