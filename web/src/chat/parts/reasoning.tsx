/** What the agent thinks, as one line that opens. */
import {Brain, ChevronDown, ChevronRight} from 'lucide';
import {useMemo} from 'preact/hooks';
import type {ResponsePart} from '../../ahp/index.ts';
import {StreamedMarkdown} from '../../markdown/stream.ts';
import {Blocks} from '../../markdown/view.tsx';
import {Icon} from '../../ui/icon.tsx';
import type {PartRef} from '../../ui/registry.tsx';
import {duration} from '../../ui/time.ts';
import {words} from '../../words/index.ts';
import {thoughtFold, useFold} from '../context.ts';

/** When thoughts began and ended, as this page saw it: their parts do not say. */
const seen = new Map<string, {start: number; end?: number}>();

/** How long a thought took in milliseconds, if this page saw it begin. */
function timeOf(key: string, running: boolean): number | undefined {
  const known = seen.get(key);
  if (running) {
    if (seen.size > 2000) seen.clear();
    if (!known) seen.set(key, {start: Date.now()});
    return undefined;
  }
  if (!known) return undefined;
  known.end ??= Date.now();
  return known.end - known.start;
}

export function ReasoningPart({part, at, running}: {part: ResponsePart; at: PartRef; running: boolean}) {
  const key = `${at.chat} ${at.turn}/${at.index}/thought`;
  const isOpen = useFold(thoughtFold(at.turn, at.index));
  const time = timeOf(key, running);
  if (part.kind !== 'reasoning') return null;
  const title = running ? words.chat.thinking : time !== undefined && time >= 1000 ? words.chat.thoughtFor(duration(time)) : words.chat.thought;
  return (
    <section class="chat-reasoning">
      <button type="button" class="chat-line chat-fold" aria-expanded={isOpen.value} onClick={() => void (isOpen.value = !isOpen.value)}>
        <Icon of={Brain} />
        <span>{title}</span>
        <Icon of={isOpen.value ? ChevronDown : ChevronRight} class="chat-call-chevron" />
      </button>
      {isOpen.value && <Thought text={part.content} />}
    </section>
  );
}

// Of a longer thought the end is shown.
const MOST = 40_000;

function Thought({text}: {text: string}) {
  const stream = useMemo(() => new StreamedMarkdown(), []);
  stream.show(text.length > MOST ? text.slice(-MOST) : text);
  return <div class="chat-thought"><Blocks blocks={[...stream.blocks, ...stream.open]} stream={stream} /></div>;
}
