/** A QR code, drawn as one path. */
import {generate} from 'lean-qr';
import {useMemo} from 'preact/hooks';
import {words} from '../words/index.ts';

// Light modules around the code, which readers need to find it.
const QUIET = 4;

/** The dark modules as a path of runs, row by row; undefined where the text is too long. */
export function pathOfCode(text: string): {path: string; size: number} | undefined {
  try {
    const code = generate(text);
    const runs: string[] = [];
    for (let y = 0; y < code.size; y += 1) {
      for (let x = 0; x < code.size; x += 1) {
        if (!code.get(x, y)) continue;
        const from = x;
        while (code.get(x + 1, y)) x += 1;
        const length = x + 1 - from;
        runs.push(`M${from + QUIET} ${y + QUIET}h${length}v1h-${length}z`);
      }
    }
    return {path: runs.join(''), size: code.size + 2 * QUIET};
  } catch {
    return undefined;
  }
}

export function QrCode({text}: {text: string}) {
  const drawn = useMemo(() => pathOfCode(text), [text]);
  if (!drawn) return <p>{words.settings.access.tooLong}</p>;
  return (
    <svg class="settings-qr" viewBox={`0 0 ${drawn.size} ${drawn.size}`} role="img" aria-label={words.settings.access.code} shape-rendering="crispEdges">
      <path d={drawn.path} fill="currentColor" />
    </svg>
  );
}
