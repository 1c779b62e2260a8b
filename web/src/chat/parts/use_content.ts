/** Content that the host keeps elsewhere, read when it is shown. */
import {type ReadonlySignal, useSignal} from '@preact/signals';
import {useEffect} from 'preact/hooks';
import type {ContentRef} from '../../ahp/index.ts';
import {useStore} from '../../store/index.ts';

/** Bytes that are read at most. */
export const MOST_BYTES = 10 * 1024 * 1024;

/** Content on its way, here as text or as bytes, or not to be had. */
export type Content =
  | {readonly state: 'loading' | 'unreadable' | 'tooLarge'}
  | {readonly state: 'here'; readonly text: string}
  | {readonly state: 'bytes'; readonly bytes: Uint8Array<ArrayBuffer>; readonly type: string | undefined};

/** Read a reference; no reference is empty text. */
export function useContent(reference: ContentRef | undefined, encoding: 'utf-8' | 'base64' = 'utf-8'): ReadonlySignal<Content> {
  const store = useStore();
  const content = useSignal<Content>(reference ? {state: 'loading'} : {state: 'here', text: ''});
  useEffect(() => {
    if (!reference) return undefined;
    if ((reference.sizeHint ?? 0) > MOST_BYTES) {
      content.value = {state: 'tooLarge'};
      return undefined;
    }
    let isShown = true;
    store.ask('resourceRead', {uri: reference.uri, encoding}).then(
      got => {
        if (!isShown) return;
        if (got.encoding === 'utf-8') content.value = {state: 'here', text: got.data};
        else content.value = bytesContent(got.data, got.contentType ?? reference.contentType);
      },
      () => {
        if (isShown) content.value = {state: 'unreadable'};
      },
    );
    return () => {
      isShown = false;
    };
  }, [reference?.uri, reference?.nonce, encoding]);
  return content;
}

/** Base64 as content. */
export function bytesContent(data: string, type: string | undefined): Content {
  if (data.length > MOST_BYTES * 1.4) return {state: 'tooLarge'};
  try {
    return {state: 'bytes', bytes: Uint8Array.from(atob(data), char => char.charCodeAt(0)), type};
  } catch {
    return {state: 'unreadable'};
  }
}
