/** What is attached to the message in the making: each can be taken off again. */
import {File, Folder, Image, MessageSquare, NotebookPen, Paperclip, X} from 'lucide';
import {useEffect, useState} from 'preact/hooks';
import type {MessageAttachment} from '../ahp/index.ts';
import {Button} from '../ui/button.tsx';
import {Icon} from '../ui/icon.tsx';
import {visible} from '../ui/safe.tsx';
import {words} from '../words/index.ts';
import type {OpenDraft} from './use_draft.ts';

const ICONS: Readonly<Record<string, typeof File>> = {file: File, directory: Folder, chat: MessageSquare, annotations: NotebookPen, image: Image};

const FEW = 200;
const nameOf = (attachment: MessageAttachment): string => visible(String(attachment.label ?? '').slice(0, FEW));

export function Attached({draft}: {draft: OpenDraft}) {
  const attachments = draft.attachments.value;
  if (!attachments.length) return null;
  return (
    <ul class="composer-attached" aria-label={words.composer.attachments}>
      {attachments.map((attachment, index) => (
        <li key={index} title={nameOf(attachment)}>
          <Preview attachment={attachment} />
          <span class="composer-attached-label">{nameOf(attachment)}</span>
          <Button kind="quiet" icon={X} label={words.composer.removeAttachment(nameOf(attachment))} onClick={() => draft.detach(attachment)} />
        </li>
      ))}
    </ul>
  );
}

function Preview({attachment}: {attachment: MessageAttachment}) {
  const isPicture = attachment.type === 'embeddedResource' && /^image\/(png|webp|jpeg)$/.test(attachment.contentType);
  return isPicture ? <Picture data={attachment.data} type={attachment.contentType} /> : <Icon of={ICONS[attachment.displayKind ?? ''] ?? Paperclip} />;
}

/** An address for the bytes; none if they are no base64, as another client may have left them. */
function blobUrl(data: string, type: string): string | undefined {
  try {
    return URL.createObjectURL(new Blob([Uint8Array.from(atob(data), sign => sign.charCodeAt(0))], {type}));
  } catch {
    return undefined;
  }
}

function Picture({data, type}: {data: string; type: string}) {
  const [url, setUrl] = useState<string | undefined>(undefined);
  useEffect(() => {
    const made = blobUrl(data, type);
    setUrl(made);
    return () => void (made && URL.revokeObjectURL(made));
  }, [data, type]);
  return url ? <img class="composer-picture" src={url} alt="" /> : <Icon of={Image} />;
}
