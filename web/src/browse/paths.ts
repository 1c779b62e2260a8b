/** Folder URIs of the host, taken apart and put together; pure. */

/** One folder on the way from the top to a place. */
export interface Crumb {
  readonly uri: string;
  readonly name: string;
}

const PARTS = /^([A-Za-z][A-Za-z0-9+.-]*:(?:\/\/[^/]*)?)(\/.*)?$/;

/** The URI of something in a folder. */
export const childUri = (folder: string, name: string): string => `${folder.replace(/\/+$/, '')}/${encodeURIComponent(name)}`;

/** The folder that holds a folder; undefined at the top. */
export function parentUri(uri: string): string | undefined {
  const crumbs = crumbsOf(uri);
  return crumbs.at(-2)?.uri;
}

/** The folders on the way to a place, the top first and the place itself last. */
export function crumbsOf(uri: string): readonly Crumb[] {
  const parts = PARTS.exec(uri);
  if (!parts) return [{uri, name: uri}];
  const top = `${parts[1]}/`;
  const crumbs: Crumb[] = [{uri: top, name: '/'}];
  let at = parts[1]!;
  for (const segment of (parts[2] ?? '').split('/').filter(Boolean)) {
    at = `${at}/${segment}`;
    crumbs.push({uri: at, name: decodedSegment(segment)});
  }
  return crumbs;
}

/** A file URI as the path that a person would type, any other URI as it is. */
export function pathOf(uri: string): string {
  if (!uri.startsWith('file:///')) return uri;
  return `/${crumbsOf(uri).slice(1).map(crumb => crumb.name).join('/')}`;
}

/** The URI of what a person typed: an absolute path of the host or a URI; undefined if it is neither. */
export function uriOf(typed: string): string | undefined {
  const text = typed.trim();
  if (/^[A-Za-z][A-Za-z0-9+.-]+:/.test(text)) return text;
  if (!text.startsWith('/')) return undefined;
  const segments = text.split('/').filter(Boolean);
  return segments.some(segment => segment === '.' || segment === '..') ? undefined : `file:///${segments.map(encodeURIComponent).join('/')}`;
}

function decodedSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
