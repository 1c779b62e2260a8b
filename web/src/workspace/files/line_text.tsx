/** The text of a line, coloured where its language is known. */
import {useEffect, useState} from 'preact/hooks';
import {visible} from '../../ui/safe.tsx';
import {type Painted, knownPaint, paint} from '../../workers/highlight.ts';
import '../../markdown/markdown.css';

/** Runs of a line by length and colour class. */
export type Runs = Painted[number];

// Characters of a file that is coloured; a longer one stays plain.
const MOST_PAINTED = 120_000;

/** The colours of a text's lines; undefined while there are none. */
export function usePaint(name: string, text: string): Painted | undefined {
  const lang = name.slice(name.lastIndexOf('.') + 1);
  const [told, setTold] = useState<{text: string; painted: Painted | null}>();
  const isWanted = text.length <= MOST_PAINTED && lang !== name;
  useEffect(() => {
    if (!isWanted) return undefined;
    let isShown = true;
    void paint(lang, text).then(painted => {
      if (isShown) setTold({text, painted});
    });
    return () => {
      isShown = false;
    };
  }, [lang, text, isWanted]);
  if (!isWanted) return undefined;
  return (told?.text === text ? told.painted : knownPaint(lang, text)) ?? undefined;
}

export function LineText({text, runs}: {text: string; runs: Runs | undefined}) {
  if (!runs) return <>{visible(text)}</>;
  let at = 0;
  return (
    <>
      {runs.map(([length, cls], index) => {
        const piece = visible(text.slice(at, (at += length)));
        return cls ? <span key={index} class={`md-c${cls}`}>{piece}</span> : piece;
      })}
      {visible(text.slice(at))}
    </>
  );
}
