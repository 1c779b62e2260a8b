/** What was said to the agent, with what was attached. */
import {Copy, Paperclip} from 'lucide';
import {useMemo} from 'preact/hooks';
import type {MessageAttachment} from '../../ahp/index.ts';
import {route} from '../../route.ts';
import {Button} from '../../ui/button.tsx';
import {copy} from '../../ui/copy.ts';
import {Icon} from '../../ui/icon.tsx';
import {Link, visible} from '../../ui/safe.tsx';
import {clockTime} from '../../ui/time.ts';
import {words} from '../../words/index.ts';
import {useFold} from '../context.ts';
import type {MessageRow} from '../rows.ts';
import {Image, isImage} from './image.tsx';
import {bytesContent} from './use_content.ts';

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
          {message.attachments.map((each, index) => <li key={index}><Attachment attachment={each} /></li>)}
        </ul>
      ) : null}
    </div>
  );
}

/** Something attached: a picture as it is, a file as a link, anything else by its name. */
function Attachment({attachment}: {attachment: MessageAttachment}) {
  const picture = useMemo(() => (attachment.type === 'embeddedResource' && isImage(attachment.contentType) ? bytesContent(attachment.data, attachment.contentType) : undefined), [attachment]);
  const label = visible(attachment.label);
  if (picture?.state === 'bytes') return <Image bytes={picture.bytes} type={picture.type ?? ''} label={label} />;
  return <><Icon of={Paperclip} size={14} />{attachment.type === 'resource' ? <Link href={attachment.uri} text={label} /> : label}</>;
}
