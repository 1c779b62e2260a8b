/** The file that an entry comes from, as a link into Files. */
import type {ComponentChildren} from 'preact';
import {route, type SessionRoute} from '../route.ts';
import {To} from '../ui/to.tsx';
import {words} from '../words/index.ts';
import {linkName, shortPath} from '../workspace/files/paths.ts';
import {short} from './short.ts';

export interface SourceLinkProps {
  readonly session: string;
  readonly uri: string;
  readonly line?: number | undefined;
  readonly folders: readonly string[] | undefined;
  /** Says what it opens; the path itself, where there is nothing else. */
  readonly children?: ComponentChildren;
  readonly label?: string | undefined;
}

/** Characters of a path. */
const MOST = 160;

/** A link to a file of the host's; what lies in a window cannot be opened, and is said to. */
export function SourceLink({session, uri, line, folders, children, label}: SourceLinkProps) {
  if (!uri.startsWith('file:')) return <span>{children ?? words.tools.fromClient}</span>;
  const at = route.value;
  const here: SessionRoute = at.at === 'session' ? at : {at: 'session', session};
  // A name that long is nobody's file.
  if (uri.length > 4096) return <span>{children ?? short(uri, MOST)}</span>;
  return (
    <To class="tools-source" label={label} route={{...here, panel: 'files', file: linkName(uri, folders), line}}>
      {children ?? short(shortPath(uri, folders), MOST)}
    </To>
  );
}
