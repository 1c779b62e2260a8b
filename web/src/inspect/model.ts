/** What the inspector makes of frames: a line for each, and which match. Pure. */
import type {Frame} from '../link/tap.ts';
import {inspect as words} from '../words/inspect.ts';

export interface Line {
  readonly frame: Frame;
  /** The method, or what it answers. */
  readonly what: string;
  /** What it is about: a channel, an action. */
  readonly about: string;
  readonly isError: boolean;
}

const METHOD = /"method"\s*:\s*"([^"]*)"/;
const CHANNEL = /"channel"\s*:\s*"([^"]*)"/;
const ACTION = /"action"\s*:\s*\{\s*"type"\s*:\s*"([^"]*)"/;
const ID = /"id"\s*:\s*("[^"]*"|-?\d+)/;
const ERROR = /^\{[^{]*"error"\s*:\s*\{/;
// Members stand near the start of a frame; a long one is not searched for what it does not have.
const HEAD = 600;

/** The methods that were asked for, by the number of the question. Both sides count for themselves, but the host asks nothing. */
export function questions(frames: readonly Frame[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const {way, text} of frames) {
    const head = way === 'out' ? text.slice(0, HEAD) : '';
    const method = METHOD.exec(head)?.[1];
    const id = method === undefined ? undefined : ID.exec(head)?.[1];
    if (method !== undefined && id !== undefined) found.set(id, method);
  }
  return found;
}

/** A frame as a line. Read by eye, so by pattern: a frame may be cut, and then is no JSON. */
export function line(frame: Frame, asked: ReadonlyMap<string, string> = new Map()): Line {
  const head = frame.text.slice(0, HEAD);
  const method = METHOD.exec(head)?.[1];
  const id = ID.exec(head)?.[1];
  const isError = method === undefined && ERROR.test(head);
  const what = method ?? `${isError ? words.error : words.answer} ${id ?? ''}`.trim();
  const answered = method === undefined && id !== undefined ? asked.get(id) : undefined;
  const about = answered ?? [ACTION.exec(head)?.[1], CHANNEL.exec(head)?.[1]].filter(Boolean).join(' · ');
  return {frame, what, about, isError};
}

/** The frames that have every word of a filter in them, in any case. */
export function matching(frames: readonly Frame[], filter: string): readonly Frame[] {
  const wanted = filter.toLowerCase().split(/\s+/).filter(Boolean);
  if (!wanted.length) return frames;
  return frames.filter(frame => {
    const text = frame.text.toLowerCase();
    return wanted.every(word => text.includes(word));
  });
}

/** A frame's text laid out, where it is whole. */
export function laidOut(frame: Frame): string {
  try {
    return JSON.stringify(JSON.parse(frame.text), undefined, 2);
  } catch {
    return frame.text;
  }
}
