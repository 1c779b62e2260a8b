/** Paths and URIs of files as a person reads them (pure). */

/** The folder below which a session's paths are taken: its first one on the host. */
export const folderOf = (directories: readonly string[] | undefined): string | undefined => directories?.find(uri => uri.startsWith('file:'));

/** A URI as a path, decoded; other URIs as they are. */
export function pathOf(uri: string): string {
  if (!uri.startsWith('file://')) return uri;
  return decodedUri(uri.slice('file://'.length));
}

/** A URI's path below the folders of a session; the whole path where it is in none. */
export function shortPath(uri: string, folders: readonly string[] | undefined): string {
  const inside = (folders ?? []).filter(folder => isBelow(uri, folder)).toSorted((one, other) => other.length - one.length)[0];
  return inside === undefined ? pathOf(uri) : decodedUri(uri.slice(trimmed(inside).length + 1)) || nameOf(uri);
}

/** The last part of a URI or a path. */
export function nameOf(uri: string): string {
  const path = trimmed(uri);
  return decodedUri(path.slice(path.lastIndexOf('/') + 1)) || pathOf(uri);
}

/** What stands before the name in a path, with the slash. */
export const folderPart = (path: string): string => path.slice(0, path.lastIndexOf('/') + 1);

/** The URI of an entry in a folder. */
export const childUri = (folder: string, name: string): string => `${trimmed(folder)}/${escaped(name)}`;

/** Whether a URI is inside of a folder. */
export const isBelow = (uri: string, folder: string): boolean => uri.startsWith(`${trimmed(folder)}/`);

/** The URI that a link names: a path below the session's first folder, an absolute path, or a URI. */
export function resolvedUri(named: string, folders: readonly string[] | undefined): string | undefined {
  if (/^[A-Za-z][A-Za-z0-9+.-]+:/.test(named)) return named;
  if (named.startsWith('/')) return `file://${encodedPath(named)}`;
  const folder = folderOf(folders);
  const path = named.replace(/^(\.\/)+/, '');
  return folder === undefined || !path ? folder : `${trimmed(folder)}/${encodedPath(path)}`;
}

/** What a link to a file says: short where the file is in the session's first folder. */
export function linkName(uri: string, folders: readonly string[] | undefined): string {
  const folder = folderOf(folders);
  if (folder === undefined || !isBelow(uri, folder)) return uri;
  const path = decodedUri(uri.slice(trimmed(folder).length + 1));
  return resolvedUri(path, folders) === uri ? path : uri;
}

/** The folders from a root down to what lies in it: those to open so that it is seen. */
export function foldersTo(uri: string, root: string): string[] {
  const found: string[] = [];
  for (let at = uri.lastIndexOf('/'); at > trimmed(root).length; at = uri.lastIndexOf('/', at - 1)) found.push(uri.slice(0, at));
  return isBelow(uri, root) ? found.toReversed() : [];
}

/** A text within a URI, with all reserved characters encoded, as hosts write their own. */
export const escaped = (text: string): string => encodeURIComponent(text).replaceAll(/[!'()*]/g, mark => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);

const encodedPath = (path: string): string => path.split('/').map(escaped).join('/');
const trimmed = (uri: string): string => uri.replace(/\/+$/, '');

function decodedUri(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
