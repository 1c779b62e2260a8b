/** Where messages are written: the box, what waits above it, or why nothing can be written here. */
import {useComputed} from '@preact/signals';
import type {ChatState} from '../ahp/index.ts';
import {WaitingBar} from '../cards/waiting_bar.tsx';
import {useFollowed, useStore} from '../store/index.ts';
import {ErrorBoundary} from '../ui/error_boundary.tsx';
import type {ChatRef} from '../ui/registry.tsx';
import {To} from '../ui/to.tsx';
import {words} from '../words/index.ts';
import {Box} from './box.tsx';
import './composer.css';
import {QueueList} from './queue_list.tsx';

/** Turns that are followed, if the composer is the first to follow its chat. */
const TURNS = 30;

export function Composer(at: ChatRef) {
  const store = useStore();
  const chat = useFollowed(() => store.chat(at.chat, TURNS), [at.chat]);
  const session = useFollowed(() => store.session(at.session), [at.session]);
  // Only what decides the layout is read here: streamed text must draw nothing of this.
  const origin = useComputed(() => readOnlyOrigin(chat.state.value));
  const isGone = useComputed(() => (session.gone.value ?? chat.gone.value) !== undefined);
  const bar = <ErrorBoundary of={at.chat}><WaitingBar key={at.chat} at={at} chat={chat.state} session={session.state} /></ErrorBoundary>;
  if (origin.value !== undefined) return <div class="composer">{bar}<ReadOnly at={at} isWorker={origin.value === 'tool'} /></div>;
  if (store.me.value?.role === 'viewer') return <div class="composer">{bar}<p class="composer-only">{words.link.viewer}</p></div>;
  return (
    <section class="composer" aria-label={words.composer.message}>
      {bar}
      <ErrorBoundary of={at.chat}><QueueList key={at.chat} at={at} chat={chat.state} /></ErrorBoundary>
      <Box key={at.chat} at={at} followed={chat} session={session.state} isGone={isGone} />
    </section>
  );
}

/** Where a chat comes from that takes no messages; undefined for one that does. */
function readOnlyOrigin(chat: ChatState | undefined): string | undefined {
  return chat && chat.interactivity !== undefined && chat.interactivity !== 'full' ? chat.origin?.kind ?? '' : undefined;
}

function ReadOnly({at, isWorker}: {at: ChatRef; isWorker: boolean}) {
  if (!isWorker) return <p class="composer-only">{words.composer.readOnly}</p>;
  return (
    <p class="composer-only">
      {words.link.worker} <To route={{at: 'session', session: at.session}}>{words.composer.toMainChat}</To>
    </p>
  );
}
