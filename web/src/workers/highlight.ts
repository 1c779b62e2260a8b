/** Asking for the colours of code; the answer is kept for a while, as rows come and go. */
import {Asker} from './asker.ts';
import type {PaintAsk, PaintTold} from './messages.ts';
// oxlint-disable-next-line import/default -- Vite gives the address of the worker's script
import url from './highlight.worker.ts?worker&url';

/** Runs of each line, by length and class. */
export type Painted = NonNullable<PaintTold['lines']>;

const MOST_KEPT = 200;
const kept = new Map<string, Painted | null>();
let asker: Asker<PaintAsk, PaintTold> | undefined;

const keyOf = (lang: string, code: string): string => `${lang}\n${code}`;

/** The colours, if they are known already; null if it stays plain. */
export const knownPaint = (lang: string, code: string): Painted | null | undefined => kept.get(keyOf(lang, code));

/** The colours of code in a language; null where it stays plain. */
export async function paint(lang: string, code: string): Promise<Painted | null> {
  const known = knownPaint(lang, code);
  if (known !== undefined) return known;
  asker ??= new Asker<PaintAsk, PaintTold>(url);
  const told = await asker.ask({lang, code});
  const lines = told?.lines ?? null;
  if (kept.size >= MOST_KEPT) kept.delete(kept.keys().next().value ?? '');
  kept.set(keyOf(lang, code), lines);
  return lines;
}
