/** The chats of a session as tabs: they can be dragged or moved by their menu; workers are tabs once opened. */
import {signal, useSignal} from '@preact/signals';
import {ArrowLeft, ArrowRight, Bot, EllipsisVertical, ExternalLink, Trash2, X} from 'lucide';
import {useEffect, useRef} from 'preact/hooks';
import type {SessionState} from '../ahp/index.ts';
import {go} from '../route.ts';
import {useStore} from '../store/index.ts';
import {Button} from '../ui/button.tsx';
import {Icon} from '../ui/icon.tsx';
import {useWhyNot} from '../ui/may_act.ts';
import {Menu, type MenuItem} from '../ui/popover.tsx';
import {visible} from '../ui/safe.tsx';
import {Sheet} from '../ui/sheet.tsx';
import {To} from '../ui/to.tsx';
import {words} from '../words/index.ts';
import {disposeChat, moveChatOut, placeChat} from './chat_acts.ts';
import {type ChatTab, chatTabs, droppedAfter, placeAfter} from './tabs_model.ts';

// The workers that were opened and not closed again.
const opened = signal<ReadonlySet<string>>(new Set());

export interface TabsProps {
  readonly session: string;
  readonly state: SessionState;
  readonly shown: string;
}

export function Tabs({session, state, shown}: TabsProps) {
  const store = useStore();
  const dragged = useSignal<string | undefined>(undefined);
  const tabs = chatTabs(state, shown, opened.value);
  const current = tabs.find(tab => tab.uri === shown);
  useEffect(() => {
    if (current?.isWorker) opened.value = new Set([...opened.peek(), shown]);
  }, [shown, current?.isWorker]);
  if (tabs.length < 2) return null;
  const drop = (on: string): void => {
    const chat = dragged.peek();
    dragged.value = undefined;
    const after = chat === undefined ? undefined : droppedAfter(tabs, chat, on);
    if (chat !== undefined && after !== undefined) void placeChat(store, {session, chat}, after);
  };
  return (
    <nav class="chat-tabs" aria-label={words.chat.chats}>
      {tabs.map(tab => (
        <div
          key={tab.uri}
          class={tab.uri === shown ? 'chat-tab current' : 'chat-tab'}
          draggable={tab.movable}
          onDragStart={() => void (dragged.value = tab.uri)}
          onDragEnd={() => void (dragged.value = undefined)}
          onDragOver={event => {
            if (dragged.peek() !== undefined) event.preventDefault();
          }}
          onDrop={event => {
            event.preventDefault();
            drop(tab.uri);
          }}
        >
          <To route={{at: 'session', session, chat: tab.isMain ? undefined : tab.uri}} current={tab.uri === shown} class="chat-tab-link">
            {tab.isWorker && <Icon of={Bot} />}
            <span class="chat-tab-title">{tab.isMain ? words.chat.main : visible(tab.title || words.chat.untitled)}</span>
            {tab.mark && <span class={`chat-mark ${tab.mark}`}><span class="hidden-text">{MARKS[tab.mark]}</span></span>}
          </To>
          {tab.uri === shown && <TabActions tab={tab} tabs={tabs} session={session} />}
        </div>
      ))}
    </nav>
  );
}

const MARKS = {waiting: words.chat.waiting, working: words.chat.working, unread: words.chat.unread} as const;

function TabActions({tab, tabs, session}: {tab: ChatTab; tabs: readonly ChatTab[]; session: string}) {
  if (tab.isMain) return null;
  if (!tab.isWorker) return <TabMenu tab={tab} tabs={tabs} session={session} />;
  const close = (): void => {
    opened.value = new Set([...opened.peek()].filter(uri => uri !== tab.uri));
    go({at: 'session', session}, {replace: true});
  };
  return <Button kind="quiet" icon={X} label={words.chat.closeTab} onClick={close} />;
}

function TabMenu({tab, tabs, session}: {tab: ChatTab; tabs: readonly ChatTab[]; session: string}) {
  const store = useStore();
  const cannot = useWhyNot();
  const isOpen = useSignal(false);
  const isAsking = useSignal(false);
  const button = useRef<HTMLButtonElement>(null);
  const whyNotMove = cannot ?? (tab.movable ? undefined : words.chat.notMovable);
  const move = (steps: -1 | 1, item: Omit<MenuItem, 'run'>): MenuItem[] => {
    const after = placeAfter(tabs, tab.uri, steps);
    return after === undefined ? [] : [{...item, whyNot: whyNotMove, run: () => void placeChat(store, {session, chat: tab.uri}, after)}];
  };
  const items: MenuItem[] = [
    ...move(-1, {id: 'left', words: words.chat.moveLeft, icon: ArrowLeft}),
    ...move(1, {id: 'right', words: words.chat.moveRight, icon: ArrowRight}),
    {id: 'out', words: words.chat.moveOut, icon: ExternalLink, whyNot: whyNotMove, run: () => void moveChatOut(store, tab.uri)},
    {id: 'dispose', words: words.chat.disposeChat, icon: Trash2, isDanger: true, whyNot: cannot, run: () => void (isAsking.value = true)},
  ];
  return (
    <>
      <Button kind="quiet" icon={EllipsisVertical} label={words.chat.chatMenu} popup="menu" expanded={isOpen.value} buttonRef={button} onClick={() => void (isOpen.value = !isOpen.value)} />
      {isOpen.value && <Menu anchor={button} label={words.chat.chatMenu} items={items} placement="bottom-end" onClose={() => void (isOpen.value = false)} />}
      {isAsking.value && (
        <Sheet
          title={words.chat.disposeTitle}
          onClose={() => void (isAsking.value = false)}
          actions={
            <>
              <Button onClick={() => void (isAsking.value = false)}>{words.shell.cancel}</Button>
              <Button kind="danger" icon={Trash2} onClick={() => void disposeChat(store, {session, chat: tab.uri})}>{words.chat.disposeChat}</Button>
            </>
          }
        >
          <p>{words.chat.disposeAsk}</p>
        </Sheet>
      )}
    </>
  );
}
