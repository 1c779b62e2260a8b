/** Which files the service worker keeps for a start without a host. */
import {expect, test} from 'vitest';
import {firstLoad} from '../../tools/service_worker.ts';

const chunk = (fileName: string, imports: string[], more: object = {}): object =>
  ({type: 'chunk', fileName, imports, isEntry: false, dynamicImports: [], viteMetadata: {importedCss: new Set<string>()}, ...more});

test('the entry, what it imports and their styles, but nothing that is loaded on use', () => {
  const bundle = {
    'assets/index.js': chunk('assets/index.js', ['assets/shared.js'], {isEntry: true, dynamicImports: ['assets/lazy.js'], viteMetadata: {importedCss: new Set(['assets/index.css'])}}),
    'assets/shared.js': chunk('assets/shared.js', ['assets/index.js'], {viteMetadata: {importedCss: new Set(['assets/shared.css'])}}),
    'assets/lazy.js': chunk('assets/lazy.js', ['assets/shared.js'], {viteMetadata: {importedCss: new Set(['assets/lazy.css'])}}),
    'index.html': {type: 'asset', fileName: 'index.html'},
  };
  expect(firstLoad(bundle as never)).toEqual(['assets/index.css', 'assets/index.js', 'assets/shared.css', 'assets/shared.js']);
});
