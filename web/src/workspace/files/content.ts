/** What a file that was read turns out to be (pure). */
import type {ResourceReadResult} from '../../ahp/index.ts';

/** Bytes of a text that are shown. */
export const LARGEST_TEXT = 1_048_576;
/** Bytes of a picture that are shown. */
export const LARGEST_IMAGE = 10_485_760;

/** A file's content as it can be shown. */
export type Content =
  | {readonly is: 'text'; readonly text: string}
  | {readonly is: 'image'; readonly bytes: Uint8Array<ArrayBuffer>; readonly type: string}
  | {readonly is: 'binary'; readonly size: number}
  | {readonly is: 'large'; readonly size: number};

const IMAGES: ReadonlyMap<string, string> = new Map([
  ['png', 'image/png'], ['jpg', 'image/jpeg'], ['jpeg', 'image/jpeg'], ['gif', 'image/gif'], ['webp', 'image/webp'], ['avif', 'image/avif'],
  ['bmp', 'image/bmp'], ['ico', 'image/x-icon'], ['svg', 'image/svg+xml'],
]);

/** The type of a picture by its name; undefined if it is none. */
export const imageType = (name: string): string | undefined => IMAGES.get(name.slice(name.lastIndexOf('.') + 1).toLowerCase());

/** What a file of this size and name may be asked for at all; undefined if it is too large. */
export function encodingFor(name: string, size: number | undefined): 'utf-8' | 'base64' | undefined {
  const isImage = imageType(name) !== undefined;
  if (size !== undefined && size > (isImage ? LARGEST_IMAGE : LARGEST_TEXT)) return undefined;
  return isImage ? 'base64' : 'utf-8';
}

/** What was read. */
export function contentOf(name: string, read: ResourceReadResult): Content {
  const type = imageType(name);
  if (read.encoding === 'base64') {
    const bytes = bytesOf(read.data);
    if (type && bytes.length <= LARGEST_IMAGE) return {is: 'image', bytes, type};
    const text = bytes.length <= LARGEST_TEXT ? textOf(bytes) : undefined;
    return text === undefined ? {is: 'binary', size: bytes.length} : asText(text);
  }
  if (type) return {is: 'image', bytes: new TextEncoder().encode(read.data), type};
  return asText(read.data);
}

function asText(text: string): Content {
  // One byte or more for each character: what is longer in characters is larger in bytes.
  if (text.length > LARGEST_TEXT) return {is: 'large', size: text.length};
  return text.slice(0, 8_000).includes('\0') ? {is: 'binary', size: text.length} : {is: 'text', text};
}

function textOf(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', {fatal: true}).decode(bytes);
  } catch {
    return undefined;
  }
}

function bytesOf(data: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(data), mark => mark.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}
