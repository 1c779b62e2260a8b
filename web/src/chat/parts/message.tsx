/** What was said to the agent, with what was attached. */
import {Copy, Paperclip} from 'lucide';
import {route} from '../../route.ts';
import {Button} from '../../ui/button.tsx';
import {copy} from '../../ui/copy.ts';
import {Icon} from '../../ui/icon.tsx';
import {clockTime} from '../../ui/time.ts';
import {words} from '../../words/index.ts';
import {useFold} from '../context.ts';
import type {MessageRow} from '../rows.ts';

// Of a longer message the beginning is shown until somebody wants it all.
const MOST_SHOWN = 3000;
const MOST_EVER = 200_000;

export function MessageView({row}: {row: MessageRow}) {
  const {message, startedAt} = row;
  const isOpen = useFold(`${row.key}/whole`);
  const senders: Readonly<Record<string, string>> = words.chat.senders;
  const kind = message.origin?.kind ?? 'user';
  const isLong = message.text.length > MOST_SHOWN;
  const text = message.text.slice(0, isLong && !isOpen.value ? MOST_SHOWN : MOST_EVER);
  const here = route.value;
  const isLinked = here.at === 'session' && here.turn === row.turn;
  return (
    <div class={isLinked ? 'chat-message linked' : 'chat-message'}>
      <header class="chat-message-head">
        <strong>{Object.hasOwn(senders, kind) ? senders[kind] : kind}</strong>
        {startedAt && <time dateTime={startedAt}>{clockTime(startedAt)}</time>}
        <Button kind="quiet" icon={Copy} label={words.chat.copyMessage} onClick={() => void copy(message.text)} />
      </header>
      <div class="chat-message-text">{text}{isLong && !isOpen.value && '…'}</div>
      {isLong && (
        <button type="button" class="chat-more" aria-expanded={isOpen.value} onClick={() => void (isOpen.value = !isOpen.value)}>
          {isOpen.value ? words.chat.showLess : words.chat.showAll(message.text.split('\n').length)}
        </button>
      )}
      {message.attachments?.length ? (
        <ul class="chat-attachments" aria-label={words.chat.attachments}>
          {message.attachments.map((each, index) => <li key={index}><Icon of={Paperclip} size={14} />{each.label}</li>)}
        </ul>
      ) : null}
    </div>
  );
}
