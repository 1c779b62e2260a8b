/** A worker as a live line under the call that started it; it opens as a tab. */
import {Bot, ChevronRight} from 'lucide';
import type {ChatSummary, ToolResultContent, ToolResultSubagentContent} from '../../ahp/index.ts';
import {ACTIVITY_MASK, ERROR, INPUT_NEEDED, IN_PROGRESS} from '../../ahp/status.ts';
import {useFollowed, useStore} from '../../store/index.ts';
import {Icon} from '../../ui/icon.tsx';
import type {CallRef, ChatRef} from '../../ui/registry.tsx';
import {visible} from '../../ui/safe.tsx';
import {To} from '../../ui/to.tsx';
import {words} from '../../words/index.ts';

type WorkerState = keyof typeof words.chat.workerStates;

/** How a worker is, by its chat's summary in the session. */
export function workerState(chat: Pick<ChatSummary, 'status'> | undefined): WorkerState {
  if (!chat) return 'gone';
  const activity = chat.status & ACTIVITY_MASK;
  if (activity === INPUT_NEEDED) return 'waiting';
  if (activity === IN_PROGRESS) return 'working';
  return activity === ERROR ? 'failed' : 'done';
}

export function WorkerLine({worker, at}: {worker: ToolResultSubagentContent; at: ChatRef}) {
  const store = useStore();
  const session = useFollowed(() => store.session(at.session), [at.session]);
  const chat = session.state.value?.chats.find(each => each.resource === worker.resource);
  const state = workerState(chat);
  const title = visible(chat?.title || worker.title);
  const line = (
    <>
      <Icon of={Bot} class={state === 'working' ? 'chat-breathes' : undefined} />
      <span class="chat-worker-title">{title}</span>
      <span class={`chat-worker-state ${state}`}>{state === 'working' && chat?.activity ? visible(chat.activity) : words.chat.workerStates[state]}</span>
    </>
  );
  if (!chat) return <p class="chat-line chat-worker">{line}</p>;
  return (
    <To route={{at: 'session', session: at.session, chat: worker.resource}} class="chat-line chat-worker">
      {line}
      <Icon of={ChevronRight} class="chat-call-chevron" />
    </To>
  );
}

/** A worker among what a tool gave. */
export function WorkerContent({content, at}: {content: ToolResultContent; at: CallRef}) {
  return content.type === 'subagent' ? <WorkerLine worker={content} at={at} /> : null;
}
