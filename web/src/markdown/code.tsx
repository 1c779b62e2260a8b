/** A block of code: its language, a way to copy it, and colours once it is complete. */
import {useSignal} from '@preact/signals';
import {Copy} from 'lucide';
import {useEffect} from 'preact/hooks';
import {Button} from '../ui/button.tsx';
import {copy} from '../ui/copy.ts';
import {words} from '../words/index.ts';
import {type Painted, knownPaint, paint} from '../workers/highlight.ts';
import {BLOCK_MOST} from './lex.ts';

export interface CodeProps {
  readonly text: string;
  /** As the fence says it; the first word counts. */
  readonly lang: string;
  /** Whether it may still grow: then it has no colours yet. */
  readonly isOpen: boolean;
  /** All of it, where this is only a piece. */
  readonly whole?: (() => string) | undefined;
  readonly isFirst?: boolean | undefined;
  readonly isPiece?: boolean | undefined;
}

export function Code({text, lang, isOpen, whole, isFirst = true, isPiece = false}: CodeProps) {
  const name = lang.trim().split(/[\s{,]/, 1)[0]?.slice(0, 20) ?? '';
  const shown = isPiece ? text.replace(/\n$/, '') : text;
  const painted = usePaint(name, shown, !isOpen && shown.length <= BLOCK_MOST);
  return (
    <div class={isFirst ? 'md-code' : 'md-code md-goes-on'}>
      {isFirst && (
        <div class="md-code-head">
          <span>{name}</span>
          <Button kind="quiet" icon={Copy} label={words.markdown.copyCode} onClick={() => void copy(whole?.() ?? text)} />
        </div>
      )}
      <pre tabIndex={0} role="group" aria-label={words.markdown.code(name)}><code>{painted ? <Coloured text={shown} painted={painted} /> : shown}</code></pre>
    </div>
  );
}

/** The colours of code, once they are there. */
function usePaint(lang: string, text: string, isWanted: boolean): Painted | null | undefined {
  const known = isWanted && lang ? knownPaint(lang, text) : null;
  const told = useSignal<{text: string; painted: Painted | null} | undefined>(undefined);
  useEffect(() => {
    if (!isWanted || !lang || known !== undefined) return undefined;
    let isShown = true;
    void paint(lang, text).then(painted => {
      if (isShown) told.value = {text, painted};
    });
    return () => {
      isShown = false;
    };
  }, [lang, text, isWanted]);
  return known ?? (told.value?.text === text ? told.value.painted : undefined);
}

// More elements than this a block of code does not get.
const MOST_RUNS = 1500;

/** The same text, in runs of one colour; what has none is one run across lines. */
function Coloured({text, painted}: {text: string; painted: Painted}) {
  const runs: {text: string; cls: number}[] = [];
  let at = 0;
  const take = (length: number, cls: number): void => {
    const last = runs.at(-1);
    const piece = text.slice(at, at + length);
    at += length;
    if (last && (last.cls === cls || !piece.trim())) last.text += piece;
    else runs.push({text: piece, cls});
  };
  for (const line of painted) {
    for (const [length, cls] of line) take(length, cls);
    take(1, runs.at(-1)?.cls ?? 0);
    if (runs.length > MOST_RUNS) break;
  }
  if (at < text.length) take(text.length - at, 0);
  return <>{runs.map((run, index) => (run.cls ? <span key={index} class={`md-c${run.cls}`}>{run.text}</span> : run.text))}</>;
}
