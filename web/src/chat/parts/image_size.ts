/** The size that a picture's header tells, so that it gets its room before it is drawn. */

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** The size of a PNG, GIF, WebP or JPEG; undefined if the header does not tell. */
export function imageSize(bytes: Uint8Array): Size | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    const size = png(view) ?? gif(view) ?? webp(view) ?? jpeg(view);
    return size && size.width > 0 && size.height > 0 ? size : undefined;
  } catch {
    // It ends before its header does.
    return undefined;
  }
}

function png(view: DataView): Size | undefined {
  return view.getUint32(0) === 0x89504e47 ? {width: view.getUint32(16), height: view.getUint32(20)} : undefined;
}

function gif(view: DataView): Size | undefined {
  return view.getUint32(0) === 0x47494638 ? {width: view.getUint16(6, true), height: view.getUint16(8, true)} : undefined;
}

function webp(view: DataView): Size | undefined {
  if (view.getUint32(0) !== 0x52494646 || view.getUint32(8) !== 0x57454250) return undefined;
  const format = view.getUint32(12);
  if (format === 0x56503858) return {width: 1 + uint24(view, 24), height: 1 + uint24(view, 27)};
  if (format === 0x56503820) return {width: view.getUint16(26, true) & 0x3fff, height: view.getUint16(28, true) & 0x3fff};
  if (format !== 0x5650384c) return undefined;
  const bits = view.getUint32(21, true);
  return {width: 1 + (bits & 0x3fff), height: 1 + ((bits >> 14) & 0x3fff)};
}

const uint24 = (view: DataView, at: number): number => view.getUint16(at, true) | (view.getUint8(at + 2) << 16);

function jpeg(view: DataView): Size | undefined {
  if (view.getUint16(0) !== 0xffd8) return undefined;
  for (let at = 2; at < view.byteLength; ) {
    if (view.getUint8(at) !== 0xff) return undefined;
    const marker = view.getUint8(at + 1);
    // Frames of every kind; the others in this range are tables.
    if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)) return {width: view.getUint16(at + 7), height: view.getUint16(at + 5)};
    at += 2 + view.getUint16(at + 2);
  }
  return undefined;
}
