/** Where messages are written: the box, what waits above it, or why nothing can be written here. */
import type {ChatState} from '../ahp/index.ts';
import {useFollowed, useStore} from '../store/index.ts';
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
  const state = chat.state.value;
  if (state && state.interactivity !== undefined && state.interactivity !== 'full') return <ReadOnly at={at} chat={state} />;
  if (store.me.value?.role === 'viewer') return <p class="composer-only">{words.link.viewer}</p>;
  return (
    <section class="composer" aria-label={words.composer.message}>
      {state && <QueueList key={`queue ${at.chat}`} at={at} chat={state} />}
      <Box key={at.chat} at={at} chat={chat.state} />
    </section>
  );
}

function ReadOnly({at, chat}: {at: ChatRef; chat: ChatState}) {
  if (chat.origin?.kind !== 'tool') return <p class="composer-only">{words.composer.readOnly}</p>;
  return (
    <p class="composer-only">
      {words.composer.worker} <To route={{at: 'session', session: at.session}}>{words.composer.toMainChat}</To>
    </p>
  );
}
