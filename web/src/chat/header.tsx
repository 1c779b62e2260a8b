/** The head of a chat: what it is about, and who answers how. */
import {Plus} from 'lucide';
import {useEffect} from 'preact/hooks';
import type {AgentInfo, SessionState} from '../ahp/index.ts';
import {useStore} from '../store/index.ts';
import {ActButton} from '../ui/button.tsx';
import {command} from '../ui/commands.ts';
import {visible} from '../ui/safe.tsx';
import {words} from '../words/index.ts';
import {ApprovalMode} from './approval_mode.tsx';
import {newChat} from './chat_acts.ts';
import {OpenThere} from './open_there.tsx';
import {modelName} from './usage.ts';

export interface HeaderProps {
  readonly session: string;
  readonly state: SessionState | undefined;
  /** The id of the model that answered last. */
  readonly model: string | undefined;
}

export function Header({session, state, model}: HeaderProps) {
  const store = useStore();
  const agent = store.root.state.value?.agents.find(each => each.provider === state?.provider);
  const mayHaveMore = agent?.capabilities?.multipleChats !== undefined;
  useEffect(() => command({
    id: 'chat.new',
    words: words.chat.newChat,
    group: words.chat.group,
    when: () => mayHaveMore && store.live.peek() === 'live' && store.me.peek()?.role !== 'viewer',
    run: () => void newChat(store, session),
  }), [session, mayHaveMore]);
  return (
    <header class="chat-header">
      <h1 title={state && visible(state.title)}>{state && visible(state.title)}</h1>
      <Who state={state} model={modelName(model, agent)} agent={agent} />
      <div class="chat-chips">
        <OpenThere state={state} />
        <ApprovalMode session={session} state={state} />
      </div>
      {mayHaveMore && <ActButton kind="quiet" icon={Plus} label={words.chat.newChat} onClick={() => void newChat(store, session)} />}
    </header>
  );
}

function Who({state, model, agent}: {state: SessionState | undefined; model: string | undefined; agent: AgentInfo | undefined}) {
  if (!state) return null;
  const name = agent?.displayName ?? state.provider;
  return (
    <p class="chat-who">
      <span title={words.chat.agent}>{visible(name)}</span>
      {model !== undefined && model !== name && <span title={words.chat.model}>{visible(model)}</span>}
    </p>
  );
}
