/** A notice of the system's in a turn. */
import {Info} from 'lucide';
import type {ResponsePart} from '../../ahp/index.ts';
import {Markdown} from '../../markdown/view.tsx';
import {Icon} from '../../ui/icon.tsx';

export function NoticePart({part}: {part: ResponsePart}) {
  if (part.kind !== 'systemNotification') return null;
  const {content} = part;
  return (
    <div class="chat-notice" role="note">
      <Icon of={Info} />
      {typeof content === 'string' ? <p>{content}</p> : <Markdown text={String(content?.markdown ?? '')} />}
    </div>
  );
}
