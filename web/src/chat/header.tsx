/** The head of a chat: what it is about, who answers and how, and how full the context is. */
import {Plus, ShieldOff} from 'lucide';
import type {AgentInfo, ChatState, SessionState} from '../ahp/index.ts';
import {useStore} from '../store/index.ts';
import {ActButton} from '../ui/button.tsx';
import {Icon} from '../ui/icon.tsx';
import {visible} from '../ui/safe.tsx';
import {words} from '../words/index.ts';
import {newChat} from './chat_acts.ts';
import {contextUse, modelOf, shortCount} from './usage.ts';

export interface HeaderProps {
  readonly session: string;
  readonly state: SessionState | undefined;
  readonly chat: ChatState | undefined;
}

export function Header({session, state, chat}: HeaderProps) {
  const store = useStore();
  const agent = store.root.state.value?.agents.find(each => each.provider === state?.provider);
  return (
    <header class="chat-header">
      <h1 title={state && visible(state.title)}>{state && visible(state.title)}</h1>
      <Who state={state} chat={chat} agent={agent} />
      <div class="chat-chips">
        {state?.config?.values['autoApprove'] === 'autoApprove' && (
          <span class="chat-everything" title={words.chat.allowsEverythingWhy}><Icon of={ShieldOff} /><span>{words.chat.allowsEverything}</span></span>
        )}
        {chat && <Context chat={chat} agent={agent} />}
      </div>
      {agent?.capabilities?.multipleChats && <ActButton kind="quiet" icon={Plus} label={words.chat.newChat} onClick={() => void newChat(store, session)} />}
    </header>
  );
}

function Who({state, chat, agent}: {state: SessionState | undefined; chat: ChatState | undefined; agent: AgentInfo | undefined}) {
  if (!state) return null;
  const model = modelOf(chat, agent)?.name;
  const name = agent?.displayName ?? state.provider;
  return (
    <p class="chat-who">
      <span title={words.chat.agent}>{visible(name)}</span>
      {model !== undefined && model !== name && <span title={words.chat.model}>{visible(model)}</span>}
    </p>
  );
}

function Context({chat, agent}: {chat: ChatState; agent: AgentInfo | undefined}) {
  const use = contextUse(chat, modelOf(chat, agent));
  if (!use) return null;
  const percent = Math.round((100 * use.used) / use.most);
  const detail = words.chat.contextTokens(shortCount(use.used), shortCount(use.most));
  return (
    <span class={percent >= 80 ? 'chat-context full' : 'chat-context'} role="meter" aria-valuenow={percent} aria-valuemin={0} aria-valuemax={100} aria-label={words.chat.context(percent)} title={detail}>
      <span class="chat-context-bar"><span style={{width: `${percent}%`}} /></span>
      <span class="chat-context-count">{shortCount(use.used)}</span>
    </span>
  );
}
