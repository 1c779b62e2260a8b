/** A file that a tool changed: its name and counts, and the change itself when asked for. */
import type {ToolResultContent, ToolResultFileEditContent} from '../../ahp/index.ts';
import {lazy} from '../../ui/lazy.tsx';
import type {CallRef} from '../../ui/registry.tsx';
import {Link, visible} from '../../ui/safe.tsx';
import {Skeleton} from '../../ui/skeleton.tsx';
import {words} from '../../words/index.ts';
import {useContent} from './use_content.ts';

const DiffView = lazy(() => import('../../workspace/changes/diff_view.tsx').then(room => room.DiffView));

/** Rows of a change that are shown at first. */
const ROWS = 20;

/** How many lines were added and removed. */
export function EditCounts({edits}: {edits: readonly ToolResultContent[]}) {
  const sum = (name: 'added' | 'removed'): number => edits.reduce((all, edit) => all + ((edit as ToolResultFileEditContent).diff?.[name] ?? 0), 0);
  const [added, removed] = [sum('added'), sum('removed')];
  if (!added && !removed) return null;
  return <span class="chat-counts"><span class="chat-added">+{added}</span> <span class="chat-removed">−{removed}</span></span>;
}

/** The last part of an address, as people read it. */
export function fileName(uri: string): string {
  const name = uri.replace(/[?#].*$/, '').split('/').findLast(Boolean) ?? uri;
  try {
    return visible(decodeURIComponent(name));
  } catch {
    return visible(name);
  }
}

export function FileEditContent({content}: {content: ToolResultContent; at: CallRef}) {
  if (content.type !== 'fileEdit') return null;
  const uri = content.after?.uri ?? content.before?.uri ?? '';
  const note = !content.before ? words.chat.created : !content.after ? words.chat.deleted : content.before.uri === uri ? undefined : words.chat.renamed(fileName(content.before.uri));
  return (
    <div class="chat-content">
      <p class="chat-line">
        <Link href={uri} text={fileName(uri)} />
        {note && <span>{note}</span>}
        <EditCounts edits={[content]} />
      </p>
      <Change content={content} />
    </div>
  );
}

function Change({content}: {content: ToolResultFileEditContent}) {
  const before = useContent(content.before?.content).value;
  const after = useContent(content.after?.content).value;
  if (before.state === 'loading' || after.state === 'loading') return <Skeleton lines={3} />;
  if (before.state !== 'here' || after.state !== 'here') return <p class="chat-call-note">{words.chat.diffUnavailable}</p>;
  return <DiffView before={before.text} after={after.text} limit={ROWS} />;
}
