/** The end of a turn: how it ended, what it took, and what can be done from there. */
import {useComputed, useSignal} from '@preact/signals';
import {Copy, GitFork, Link2, PencilLine} from 'lucide';
import type {ChatState, StateAction, Turn} from '../../ahp/index.ts';
import {putIntoComposer} from '../../composer/intake.ts';
import {href} from '../../route.ts';
import {type Act, useFollowed, useStore} from '../../store/index.ts';
import {ActButton, Button} from '../../ui/button.tsx';
import {copy} from '../../ui/copy.ts';
import {Outcome} from '../../ui/outcome.tsx';
import type {ChatRef} from '../../ui/registry.tsx';
import {Sheet} from '../../ui/sheet.tsx';
import {clockTime, duration} from '../../ui/time.ts';
import {words} from '../../words/index.ts';
import {forkChat, forkSession} from '../chat_acts.ts';
import {type TranscriptContext, useTranscript} from '../context.ts';
import type {EndRow} from '../rows.ts';
import {shortCount, tokensOf} from '../usage.ts';

// Milliseconds: what took less is not worth telling.
const LEAST = 100;

export function TurnEnd({row}: {row: EndRow}) {
  const {of: turn} = row;
  const transcript = useTranscript();
  const at = transcript?.at;
  const answer = answerOf(turn);
  const ended = endOf(turn);
  return (
    <footer class="chat-turn-end">
      {turn.state === 'cancelled' && <strong>{words.chat.stopped}</strong>}
      {ended !== undefined && <time dateTime={ended}>{clockTime(ended)}</time>}
      {turn.duration !== undefined && turn.duration >= LEAST && <span>{duration(turn.duration)}</span>}
      <Tokens turn={turn} />
      <span class="chat-turn-acts">
        {answer && <Button kind="quiet" icon={Copy} label={words.chat.copyAnswer} onClick={() => void copy(answer)} />}
        {at && <Button kind="quiet" icon={Link2} label={words.chat.copyLink} onClick={() => void copy(linkTo(at, turn.id))} />}
        {transcript && <Fork transcript={transcript} turn={turn.id} />}
        {transcript && <EditFromHere transcript={transcript} row={row} />}
      </span>
    </footer>
  );
}

// When a turn ended says nothing new if it took no minute: its message has the time.
const LONG = 60_000;

function endOf(turn: Turn): string | undefined {
  const start = Date.parse(turn.startedAt ?? '');
  return Number.isNaN(start) || turn.duration === undefined || turn.duration < LONG ? undefined : new Date(start + turn.duration).toISOString();
}

/** All text that the agent gave in a turn. */
export function answerOf(turn: Turn): string {
  return turn.responseParts.flatMap(part => (part.kind === 'markdown' && part.content.trim() ? [part.content.trim()] : [])).join('\n\n');
}

const linkTo = ({session, chat}: ChatRef, turn: string): string => new URL(href({at: 'session', session, chat, turn}), location.href).href;

function Tokens({turn}: {turn: Turn}) {
  const {usage} = turn;
  if (!usage || !tokensOf(usage)) return null;
  const detail = words.chat.tokensDetail(usage.inputTokens ?? 0, usage.outputTokens ?? 0, usage.cacheReadTokens ?? 0);
  return <span title={detail}>{words.chat.tokens(shortCount(tokensOf(usage)))}</span>;
}

function Fork({transcript: {at, followed}, turn}: {transcript: TranscriptContext; turn: string}) {
  const store = useStore();
  const isOpen = useComputed(() => (followed.state.value?.interactivity ?? 'full') === 'full');
  const session = useFollowed(() => store.session(at.session), [at.session]);
  const agent = store.root.state.value?.agents.find(each => each.provider === session.state.value?.provider);
  const isDefault = session.state.value?.defaultChat === at.chat;
  const byChat = agent?.capabilities?.multipleChats?.fork === true;
  // Sessions fork along their default chat only.
  if (!isOpen.value || (!byChat && !isDefault)) return null;
  const fork = (): void => void (byChat ? forkChat(store, at, turn) : forkSession(store, at.session, turn));
  return <ActButton kind="quiet" icon={GitFork} label={words.chat.fork} onClick={fork} />;
}

/** Take the chat back to before a turn, and its message into the composer. */
function EditFromHere({transcript: {at, followed}, row}: {transcript: TranscriptContext; row: EndRow}) {
  const store = useStore();
  const isAsking = useSignal(false);
  const act = useSignal<Act | undefined>(undefined);
  const isFirst = row.before === undefined;
  const mayEdit = useComputed(() => {
    const chat = followed.state.value;
    // Without the turn before it there is nothing to name what is kept, unless it is the very first.
    return chat !== undefined && (chat.interactivity ?? 'full') === 'full' && !(isFirst && chat.turnsNextCursor != null);
  });
  if (!mayEdit.value || row.of.message.origin.kind !== 'user') return null;
  const remove = (): void => {
    isAsking.value = false;
    const action = {type: 'chat/truncated', ...(isFirst ? {} : {turnId: row.before})} as StateAction;
    act.value = store.act(at.chat, action);
    putIntoComposer(at.chat, row.of.message);
  };
  return (
    <>
      <ActButton kind="quiet" icon={PencilLine} label={words.chat.editFromHere} popup="dialog" onClick={() => void (isAsking.value = true)} />
      <Outcome act={act.value} />
      {isAsking.value && (
        <Sheet
          title={words.chat.editTitle}
          onClose={() => void (isAsking.value = false)}
          actions={
            <>
              <Button onClick={() => void (isAsking.value = false)}>{words.shell.cancel}</Button>
              <ActButton kind="danger" onClick={remove}>{words.chat.editYes}</ActButton>
            </>
          }
        >
          <p>{words.chat.editAsk(removedBy(followed.state.peek(), row.turn))}</p>
        </Sheet>
      )}
    </>
  );
}

/** How many turns go with this one. */
function removedBy(chat: ChatState | undefined, turn: string): number {
  const at = chat?.turns.findIndex(each => each.id === turn) ?? -1;
  return !chat || at < 0 ? 1 : chat.turns.length - at + (chat.activeTurn ? 1 : 0);
}
