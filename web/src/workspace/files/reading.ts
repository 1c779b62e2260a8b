/** Reading a file of the host, as far as it can be shown. */
import type {Store} from '../../store/index.ts';
import {failureText} from '../failure.ts';
import {type Content, contentOf, encodingFor} from './content.ts';
import {nameOf} from './paths.ts';

/** What came of reading a file. */
export type FileRead = Content | {readonly is: 'folder'} | {readonly is: 'failed'; readonly text: string};

/** Read a file; never throws. What is too large is not asked for. */
export async function readFile(store: Store, uri: string): Promise<FileRead> {
  try {
    const isFile = uri.startsWith('file:');
    const found = isFile ? await store.ask('resourceResolve', {uri}) : undefined;
    if (found?.type === 'directory') return {is: 'folder'};
    const encoding = encodingFor(nameOf(uri), found?.size);
    if (!encoding) return {is: 'large', size: found?.size ?? 0};
    return contentOf(nameOf(uri), await store.ask('resourceRead', {uri, encoding}));
  } catch (error) {
    return {is: 'failed', text: failureText(error)};
  }
}
