/**
 * One client id per tab.
 *
 * It survives a reload, so that the host sees the same client come back. A duplicated tab copies it
 * with the rest of its sessionStorage, and two clients of one id would throw each other out: so an
 * id is marked as taken while its page lives, and a page that finds a taken one makes its own.
 */
import {newId} from '../ui/ids.ts';

const ID = 'agenthost.client';
const TAKEN = 'agenthost.client.taken';

type Kept = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

/** The id of this tab: the one that it had, unless the page that has it still lives. */
export function takeClientId(kept: Kept | undefined = tabStorage(), page: EventTarget = window): string {
  const known = kept?.getItem(TAKEN) ? undefined : kept?.getItem(ID);
  const id = known || newId();
  const take = (): void => {
    kept?.setItem(ID, id);
    kept?.setItem(TAKEN, '1');
  };
  take();
  // A page that comes back out of the browser's cache lives again.
  page.addEventListener('pageshow', take);
  page.addEventListener('pagehide', () => kept?.removeItem(TAKEN));
  return id;
}

/** Forget the id of this tab: an id belongs to whoever used it first. */
export function forgetClientId(): void {
  tabStorage()?.removeItem(ID);
}

function tabStorage(): Storage | undefined {
  try {
    return sessionStorage;
  } catch {
    return undefined;
  }
}
