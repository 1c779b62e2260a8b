import {describe, expect, test} from 'vitest';
import {LARGEST_TEXT, contentOf, encodingFor} from '../../src/workspace/files/content.ts';
import {childUri, foldersTo, linkName, nameOf, resolvedUri, shortPath} from '../../src/workspace/files/paths.ts';

const FOLDERS = ['file:///home/ana/web%20page', 'file:///home/ana/web%20page/lib'];

describe('paths', () => {
  test('are short inside of a session’s folders', () => {
    expect(shortPath('file:///home/ana/web%20page/src/a%20b.ts', FOLDERS)).toBe('src/a b.ts');
    expect(shortPath('file:///home/ana/web%20page/lib/c.ts', FOLDERS)).toBe('c.ts');
    expect(shortPath('file:///etc/hosts', FOLDERS)).toBe('/etc/hosts');
    expect(shortPath('file:///home/ana/web%20pages/x', FOLDERS)).toBe('/home/ana/web pages/x');
  });

  test('survive what cannot be decoded', () => {
    expect(nameOf('file:///home/ana/50%')).toBe('50%');
  });

  test('become URIs and links again', () => {
    const uri = childUri(FOLDERS[0]!, 'a#b?.ts');
    expect(linkName(uri, FOLDERS)).toBe('a#b?.ts');
    expect(resolvedUri('a#b?.ts', FOLDERS)).toBe(uri);
    expect(resolvedUri('./src/x.ts', FOLDERS)).toBe('file:///home/ana/web%20page/src/x.ts');
    expect(resolvedUri('/etc/hosts', FOLDERS)).toBe('file:///etc/hosts');
    expect(resolvedUri('git-blob:x', FOLDERS)).toBe('git-blob:x');
    expect(linkName('file:///etc/hosts', FOLDERS)).toBe('file:///etc/hosts');
  });

  test('tell which folders to open', () => {
    expect(foldersTo('file:///r/a/b/c.ts', 'file:///r')).toEqual(['file:///r/a', 'file:///r/a/b']);
    expect(foldersTo('file:///other/c.ts', 'file:///r')).toEqual([]);
  });
});

describe('content', () => {
  test('is text, or not', () => {
    expect(contentOf('a.ts', {data: 'x', encoding: 'utf-8'})).toEqual({is: 'text', text: 'x'});
    expect(contentOf('a.bin', {data: btoa('\xff\xfe'), encoding: 'base64'})).toEqual({is: 'binary', size: 2});
    expect(contentOf('a.txt', {data: 'a\0b', encoding: 'utf-8'})).toEqual({is: 'binary', size: 3});
    expect(contentOf('a.txt', {data: btoa('plain'), encoding: 'base64'})).toEqual({is: 'text', text: 'plain'});
    expect(contentOf('a.txt', {data: 'not base64!', encoding: 'base64'})).toEqual({is: 'text', text: ''});
  });

  test('is a picture by its name', () => {
    expect(contentOf('a.SVG', {data: '<svg/>', encoding: 'utf-8'})).toMatchObject({is: 'image', type: 'image/svg+xml'});
  });

  test('is not asked for where it is too large', () => {
    expect(encodingFor('a.ts', LARGEST_TEXT + 1)).toBeUndefined();
    expect(encodingFor('a.png', LARGEST_TEXT + 1)).toBe('base64');
    expect(encodingFor('a.ts', undefined)).toBe('utf-8');
    expect(contentOf('a.ts', {data: 'x'.repeat(LARGEST_TEXT + 1), encoding: 'utf-8'}).is).toBe('large');
  });
});
