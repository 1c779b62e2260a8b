/** Pictures that are pasted or dropped: how large they may be (pure), and making them so. */
import type {MessageAttachment} from '../ahp/index.ts';

/** The longest side of a picture that is sent, in pixels. */
export const LONGEST_SIDE = 2048;
/** The most bytes of a picture that is sent. */
export const MOST_BYTES = 5 * 1024 * 1024;

/** A size with its longest side within a limit, in the same proportion; small ones stay as they are. */
export function fitted(width: number, height: number, longest = LONGEST_SIDE): {width: number; height: number} {
  const scale = Math.min(1, longest / Math.max(width, height, 1));
  return {width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale))};
}

/** Why a picture cannot be attached. */
export class PictureRefused extends Error {
  readonly why: 'unreadable' | 'tooLarge';

  constructor(why: 'unreadable' | 'tooLarge') {
    super(why);
    this.why = why;
  }
}

/** A picture as an attachment, drawn anew: that makes it small enough, and leaves out where it was taken. */
export async function attachedPicture(file: Blob, label: string): Promise<MessageAttachment> {
  const bitmap = await createImageBitmap(file).catch(() => {
    throw new PictureRefused('unreadable');
  });
  try {
    const blob = await drawn(bitmap);
    if (blob.size > MOST_BYTES) throw new PictureRefused('tooLarge');
    return {type: 'embeddedResource', label, displayKind: 'image', contentType: blob.type, data: await base64(blob)};
  } finally {
    bitmap.close();
  }
}

async function drawn(bitmap: ImageBitmap): Promise<Blob> {
  const {width, height} = fitted(bitmap.width, bitmap.height);
  const canvas = document.createElement('canvas');
  canvas.width = width;
  canvas.height = height;
  canvas.getContext('2d')?.drawImage(bitmap, 0, 0, width, height);
  const png = await blobOf(canvas, 'image/png');
  if (png && png.size <= MOST_BYTES / 4) return png;
  // Photographs are many times smaller so; where a browser cannot, it gives a PNG again.
  const webp = await blobOf(canvas, 'image/webp', 0.9);
  const smaller = webp && (!png || webp.size < png.size) ? webp : png;
  if (!smaller) throw new PictureRefused('unreadable');
  return smaller;
}

const blobOf = (canvas: HTMLCanvasElement, type: string, quality?: number): Promise<Blob | null> =>
  new Promise(resolve => canvas.toBlob(resolve, type, quality));

/** Bytes in base64, made in pieces: a call takes only so many arguments. */
export async function base64(blob: Blob): Promise<string> {
  const bytes = new Uint8Array(await blob.arrayBuffer());
  const PIECE = 0x8000;
  let text = '';
  for (let at = 0; at < bytes.length; at += PIECE) text += String.fromCharCode(...bytes.subarray(at, at + PIECE));
  return btoa(text);
}
