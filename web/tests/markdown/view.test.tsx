// @vitest-environment happy-dom
import {afterEach, describe, expect, it} from 'vitest';
import {StreamedMarkdown} from '../../src/markdown/stream.ts';
import {Blocks, Markdown} from '../../src/markdown/view.tsx';
import {type Shown, show} from '../fakes/render.tsx';

let shown: Shown | undefined;
afterEach(() => shown?.remove());

const drawn = (text: string): HTMLElement => {
  shown = show(<Markdown text={text} />);
  return shown.box;
};

describe('markdown', () => {
  it('shows the usual things', () => {
    const box = drawn('# Title\n\nSome **bold** `code` &amp; more\n\n3. three\n4. four\n\n| a | b |\n|--|--:|\n| 1 | 2 |');
    expect(box.querySelector('h2')?.textContent).toBe('Title');
    expect(box.querySelector('strong')?.textContent).toBe('bold');
    expect(box.querySelector('p')?.textContent).toBe('Some bold code & more');
    expect(box.querySelector('ol')?.getAttribute('start')).toBe('3');
    expect([...box.querySelectorAll('td')].map(cell => cell.textContent)).toEqual(['1', '2']);
  });

  it('shows tasks as boxes that cannot be ticked', () => {
    const box = drawn('- [x] done\n- [ ] open');
    expect([...box.querySelectorAll('li')].map(item => item.textContent)).toEqual(['done', 'open']);
    expect([...box.querySelectorAll('input')].map(input => [input.checked, input.disabled])).toEqual([[true, true], [false, true]]);
  });

  it('shows HTML as text', () => {
    const box = drawn('a <b onclick="x()">b</b> <script>alert(1)</script>\n\n<img src=x onerror=alert(1)>');
    expect(box.querySelector('b, script, img')).toBeNull();
    expect(box.textContent).toContain('<script>alert(1)</script>');
    expect(box.textContent).toContain('<img src=x onerror=alert(1)>');
  });

  it('opens no link that runs or reads something', () => {
    const box = drawn('[a](javascript:alert(1)) [b](data:text/html,x) [c](https://ok.example/) ![d](https://evil.example/x.png)');
    expect([...box.querySelectorAll('a')].map(link => link.getAttribute('href'))).toEqual(['https://ok.example/', 'https://evil.example/x.png']);
    expect(box.querySelector('img')).toBeNull();
  });

  it('resolves names that are defined', () => {
    expect(drawn('[the page][p]\n\n[p]: https://ok.example/').querySelector('a')?.getAttribute('href')).toBe('https://ok.example/');
  });

  it('formats a long text when asked', () => {
    const box = drawn(`${'word '.repeat(1000)}**bold**`);
    expect(box.querySelector('strong')).toBeNull();
    shown?.doing(() => box.querySelector('button')?.click());
    expect(box.querySelector('strong')?.textContent).toBe('bold');
  });

  it('leaves the elements of blocks alone that are over', () => {
    const stream = new StreamedMarkdown();
    const blocks = (): typeof stream.blocks => [...stream.blocks, ...stream.open];
    stream.show('First.\n\nSecond');
    shown = show(<Blocks blocks={blocks()} stream={stream} />);
    const first = shown.find('p');
    stream.show('First.\n\nSecond is **longer**.\n\nThird');
    shown.again(<Blocks blocks={blocks()} stream={stream} />);
    expect(shown.find('p')).toBe(first);
    expect([...shown.box.querySelectorAll('p')].map(each => each.textContent)).toEqual(['First.', 'Second is longer.', 'Third']);
  });
});
