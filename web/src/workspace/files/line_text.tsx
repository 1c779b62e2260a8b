/** The text of a line, coloured where its language is known. */
import {visible} from '../../ui/safe.tsx';

/** Runs of a line by length and colour class. */
export type Runs = readonly (readonly [length: number, cls: number])[];

/** The colours of a text's lines; undefined while there are none. */
export function usePaint(_name: string, _text: string): readonly Runs[] | undefined {
  return undefined;
}

export function LineText({text, runs}: {text: string; runs: Runs | undefined}) {
  if (!runs) return <>{visible(text)}</>;
  let at = 0;
  return (
    <>
      {runs.map(([length, cls], index) => {
        const piece = text.slice(at, (at += length));
        return cls ? <span key={index} class={`code-${cls}`}>{visible(piece)}</span> : visible(piece);
      })}
      {visible(text.slice(at))}
    </>
  );
}
