/** The thin bar over a room that tells how page and host are connected, and what to do about it. */
import {route} from '../route.ts';
import type {Live, Store} from '../store/index.ts';
import {useStore} from '../store/index.ts';
import {Button} from '../ui/button.tsx';
import {clockTime} from '../ui/time.ts';
import {words} from '../words/index.ts';

interface Said {
  readonly text: string;
  readonly action?: {readonly words: string; run(): void} | undefined;
  /** Whether it waits a second, because most of these are over before. */
  readonly isPatient?: boolean | undefined;
}

/** What is to say about the connection; nothing while it is well. */
export function connectionText(live: Live, since: number, detail: string, store: Pick<Store, 'retry'>): Said | undefined {
  const tryNow = {words: words.link.tryNow, run: () => store.retry()};
  switch (live) {
    case 'connecting': return {text: words.link.connecting, isPatient: true};
    case 'reconnecting': return {text: words.link.reconnecting(clockTime(since)), action: tryNow, isPatient: true};
    case 'offline': return {text: words.link.offline, action: tryNow};
    case 'superseded': return {text: words.link.superseded, action: {words: words.link.useHere, run: () => store.retry()}};
    case 'failed': return {text: [words.link.failed, detail].filter(Boolean).join(' '), action: tryNow};
    case 'live':
    case 'signedOut': return undefined;
  }
}

export function ConnectionBar() {
  const store = useStore();
  const live = store.live.value;
  const said = connectionText(live, store.since.value, store.detail.value, store);
  if (!said) return <Looker store={store} />;
  return (
    <div class={['shell-bar', live, said.isPatient && 'patient'].filter(Boolean).join(' ')} role="status" key={live}>
      <span class="shell-bar-text">{said.text}</span>
      {said.action && <Button kind="quiet" onClick={said.action.run}>{said.action.words}</Button>}
    </div>
  );
}

function Looker({store}: {store: Store}) {
  // In a chat it stands where one would write.
  if (route.value.at === 'session') return null;
  return store.me.value?.role === 'viewer' ? <div class="shell-bar viewer" role="note"><span class="shell-bar-text">{words.link.viewer}</span></div> : null;
}
