/** Text that a host keeps elsewhere, read when it is to be shown. */
import {type ReadonlySignal, useSignal} from '@preact/signals';
import {useEffect} from 'preact/hooks';
import type {ContentRef} from '../ahp/index.ts';
import {useStore} from '../store/index.ts';

/** The most bytes that are read for a card. */
const MOST = 1024 * 1024;

/** Text of a host's: on its way, here, or why not. */
export type Text = {readonly state: 'loading' | 'unreadable' | 'tooLarge' | 'binary'} | {readonly state: 'here'; readonly text: string};

/** The text of some references, each empty where there is none; all are read before any is shown. */
export function useTexts(refs: readonly (ContentRef | undefined)[]): ReadonlySignal<readonly Text[]> {
  const store = useStore();
  const texts = useSignal<readonly Text[]>(refs.map(() => ({state: 'loading'})));
  useEffect(() => {
    let isGone = false;
    // What was read before is of another reference: under it nobody must decide on this one.
    texts.value = refs.map(() => ({state: 'loading'}));
    void Promise.all(refs.map(ref => read(ref))).then(all => {
      if (!isGone) texts.value = all;
    });
    return () => {
      isGone = true;
    };
  }, refs.map(ref => ref && `${ref.uri} ${ref.nonce ?? ''}`));

  async function read(ref: ContentRef | undefined): Promise<Text> {
    if (!ref) return {state: 'here', text: ''};
    if ((ref.sizeHint ?? 0) > MOST) return {state: 'tooLarge'};
    try {
      const got = await store.ask('resourceRead', {uri: ref.uri, encoding: 'utf-8'});
      return got.encoding === 'utf-8' ? {state: 'here', text: got.data} : {state: 'binary'};
    } catch {
      return {state: 'unreadable'};
    }
  }
  return texts;
}
