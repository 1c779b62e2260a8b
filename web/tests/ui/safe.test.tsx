// @vitest-environment happy-dom
import {afterEach, expect, test} from 'vitest';
import {go} from '../../src/route.ts';
import {Link, filePath, openable, trustedUrl, visible} from '../../src/ui/safe.tsx';
import {type Shown, show} from '../fakes/render.tsx';

let shown: Shown | undefined;
afterEach(() => {
  shown?.remove();
  shown = undefined;
});

test.each(['javascript:alert(1)', 'data:text/html,x', 'vbscript:x', 'file:///etc/passwd', 'JaVaScRiPt:x', ' java\nscript:alert(1)', 'blob:https://a/b', '//evil.example'])(
  'a link to %j is not opened', address => {
    expect(openable(address)).toBeUndefined();
    go({at: 'list'});
    shown = show(<Link href={address}>click</Link>);
    expect(shown.box.querySelector('a')).toBeNull();
    expect(shown.box.textContent).toBe('click');
  },
);

test('a link opens in a window that knows nothing of this one', () => {
  shown = show(<Link href="https://example.org/a">docs</Link>);
  const link = shown.find<HTMLAnchorElement>('a');
  expect([link.target, link.rel, link.getAttribute('href')]).toEqual(['_blank', 'noopener noreferrer', 'https://example.org/a']);
});

test('a link that says another host than it leads to shows where it leads', () => {
  shown = show(<Link href="https://evil.example/x">github.com/me</Link>);
  expect(shown.box.textContent).toContain('leads to evil.example');
});

test('a link that says its own host shows nothing more', () => {
  shown = show(<Link href="https://github.com/me">github.com/me</Link>);
  expect(shown.box.textContent).toBe('github.com/me');
});

test('a path opens in Files, at its line', () => {
  go({at: 'session', session: 'ahp-session:/one'});
  shown = show(<Link href="src/auth.ts:12">auth</Link>);
  expect(shown.find('a').getAttribute('href')).toBe('/s/one?panel=files&file=src%2Fauth.ts&line=12');
});

test('paths are told from addresses', () => {
  expect(filePath('a/b.py#L3-L9')).toEqual({file: 'a/b.py', line: 3});
  expect(filePath('/a/b.py')).toEqual({file: '/a/b.py'});
  expect(filePath('javascript:1')).toBeUndefined();
  expect(filePath('#part')).toBeUndefined();
});

test('characters that hide or turn text around are spelled out', () => {
  expect(visible('rm\u202e -rf\u200b\u0007\ttab\nline')).toBe('rm⟨U+202E⟩ -rf⟨U+200B⟩⟨U+0007⟩\ttab\nline');
  expect([7, undefined, null, {}].map(odd => visible(odd as never))).toEqual(['7', '', '', '[object Object]']);
  expect(visible('plain – ünï 日本')).toBe('plain – ünï 日本');
  expect(visible('👩🏽‍💻 👨‍👩‍👧 ❤️')).toBe('👩🏽‍💻 👨‍👩‍👧 ❤️');
  expect(visible('a\u200db 👩\u200dx')).toBe('a⟨U+200D⟩b 👩⟨U+200D⟩x');
});

test('only scripts of this page may run', () => {
  expect(String(trustedUrl('/assets/diff-1.js'))).toBe(`${location.origin}/assets/diff-1.js`);
  expect(() => trustedUrl('https://evil.example/assets/x.js')).toThrow(TypeError);
  expect(() => trustedUrl('/other.js')).toThrow(TypeError);
  expect(() => trustedUrl('data:text/javascript,1')).toThrow(TypeError);
});
