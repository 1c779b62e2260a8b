/** A picture of a host's, only ever as a blob of this page's own. */
import {useEffect, useMemo} from 'preact/hooks';
import {words} from '../../words/index.ts';
import {imageSize} from './image_size.ts';

const SHOWN = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif', 'image/svg+xml', 'image/bmp']);

/** Whether this type is shown as a picture. */
export const isImage = (type: string | undefined): boolean => type !== undefined && SHOWN.has(type.toLowerCase().split(';', 1)[0]?.trim() ?? '');

export function Image({bytes, type, label}: {bytes: Uint8Array<ArrayBuffer>; type: string; label?: string | undefined}) {
  const url = useMemo(() => URL.createObjectURL(new Blob([bytes], {type})), [bytes, type]);
  useEffect(() => () => URL.revokeObjectURL(url), [url]);
  const {width, height} = useMemo(() => imageSize(bytes) ?? {width: 400, height: 300}, [bytes]);
  return <img class="chat-image" src={url} width={width} height={height} alt={label ?? words.chat.image} />;
}
