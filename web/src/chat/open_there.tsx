/** Where the session of an agent of another host really runs, with the way there. */
import type {SessionState} from '../ahp/index.ts';
import {href} from '../address.ts';
import {Link, openable, visible} from '../ui/safe.tsx';
import {words} from '../words/index.ts';

/** Characters of a name, and of an address. */
const MOST_NAME = 100;
const MOST_ADDRESS = 2000;

export function OpenThere({state}: {state: SessionState | undefined}) {
  const far = farOf(state);
  if (!far) return null;
  const runs = words.chat.runsAt(far.host);
  return (
    <span class="chat-far" title={runs}>
      {far.page ? <Link href={far.page}>{words.chat.openThere}<span class="hidden-text">: {runs}</span></Link> : runs}
    </span>
  );
}

/** Where a session of another host is: the host's name, and its page's address if it has one. */
export function farOf(state: SessionState | undefined): {readonly host: string; readonly page: string | undefined} | undefined {
  const far = state?._meta?.['agenthost/far'];
  if (typeof far !== 'object' || far === null || Array.isArray(far)) return undefined;
  const {host, url, session} = far as Readonly<Record<string, unknown>>;
  const address = typeof url === 'string' ? url.slice(0, MOST_ADDRESS) : '';
  const page = pageOf(address, typeof session === 'string' ? session.slice(0, MOST_ADDRESS) : undefined);
  const name = visible((typeof host === 'string' && host ? host : page ? new URL(page).host : '').slice(0, MOST_NAME));
  return name ? {host: name, page} : undefined;
}

/** The page that shows a session: an address of it, or the one that a host serves beside its socket. */
function pageOf(address: string, session: string | undefined): string | undefined {
  const socket = /^ws(s?):\/\/([^/?#]+)/i.exec(address);
  const page = socket && session !== undefined ? `http${socket[1]}://${socket[2]}${href({at: 'session', session})}` : address;
  const url = openable(page);
  return url && url.protocol !== 'mailto:' ? url.href : undefined;
}
