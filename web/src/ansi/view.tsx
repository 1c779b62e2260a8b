/** What a program printed: a few lines of it, and all of them when asked for. */
import './ansi.css';
import type {Signal} from '@preact/signals';
import {Copy} from 'lucide';
import {useMemo} from 'preact/hooks';
import {Button} from '../ui/button.tsx';
import {copy} from '../ui/copy.ts';
import {visible} from '../ui/safe.tsx';
import {words} from '../words/index.ts';
import {type Line, type Span, ansiLines, stripped} from './parse.ts';

/** Lines that are shown at first. */
export const FIRST_LINES = 40;
// Lines that are shown at all, and characters that are looked at.
const MOST_LINES = 5000;
const MOST_LENGTH = 2_000_000;
// Lines in one element: the browser skips elements that are out of sight.
const CHUNK = 100;

export interface OutputProps {
  readonly text: string;
  /** Whether all of it is shown; kept by whoever shows it, as rows come and go. */
  readonly isWhole: Signal<boolean>;
  /** Show the last lines first, as with a command, else the first. */
  readonly tail?: boolean | undefined;
  readonly label?: string | undefined;
}

export function Output({text, isWhole, tail = false, label = words.chat.output}: OutputProps) {
  const lines = useMemo(() => ansiLines(text.length > MOST_LENGTH ? (tail ? text.slice(-MOST_LENGTH) : text.slice(0, MOST_LENGTH)) : text), [text, tail]);
  const most = isWhole.value ? MOST_LINES : FIRST_LINES;
  const shown = lines.length <= most ? lines : tail ? lines.slice(-most) : lines.slice(0, most);
  return (
    <div class="ansi">
      <div class={isWhole.value && lines.length > FIRST_LINES ? 'ansi-box ansi-tall' : 'ansi-box'} tabIndex={0} role="group" aria-label={label}>
        {chunks(shown).map((chunk, index) => <pre key={index}><Lines lines={chunk} /></pre>)}
      </div>
      <div class="ansi-actions">
        {lines.length > FIRST_LINES && (
          <Button kind="quiet" expanded={isWhole.value} onClick={() => void (isWhole.value = !isWhole.value)}>
            {isWhole.value ? words.chat.showLess : words.chat.showAll(lines.length)}
          </Button>
        )}
        <Button kind="quiet" icon={Copy} label={words.chat.copyOutput} onClick={() => void copy(stripped(text))} />
      </div>
    </div>
  );
}

/** The last lines of what a program prints, in a box that keeps its height. */
export function Tail({text, lines = 3}: {text: string; lines?: number}) {
  // More than these lines can hold is not looked at, as this is drawn with every piece that comes.
  const last = ansiLines(text.slice(-4000)).slice(-lines);
  return <pre class="ansi-tail" aria-label={words.chat.output}><Lines lines={last} /></pre>;
}

function chunks(lines: readonly Line[]): (readonly Line[])[] {
  return Array.from({length: Math.ceil(lines.length / CHUNK)}, (_, at) => lines.slice(at * CHUNK, (at + 1) * CHUNK));
}

/** Lines with as few elements as their styles allow. */
function Lines({lines}: {lines: readonly Line[]}) {
  const runs: Span[] = [];
  lines.forEach((line, at) => {
    for (const span of at ? [{text: '\n'}, ...line] : line) add(runs, span);
  });
  return <>{runs.map((run, index) => <Run key={index} run={run} />)}</>;
}

function add(runs: Span[], span: Span): void {
  const last = runs.at(-1);
  if (last && last.style === span.style) runs[runs.length - 1] = {...last, text: last.text + span.text};
  else runs.push(span);
}

function Run({run}: {run: Span}) {
  const text = visible(run.text);
  if (!run.style) return <>{text}</>;
  const {classes, color, background} = run.style;
  return <span class={classes || undefined} style={{...(color ? {color} : {}), ...(background ? {backgroundColor: background} : {})}}>{text}</span>;
}
