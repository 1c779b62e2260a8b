/** A line that a host or an agent words, as plain text or markdown. */
import type {StringOrMarkdown} from '../../ahp/index.ts';
import {Inline} from '../../markdown/inline.tsx';
import {visible} from '../../ui/safe.tsx';

const LONGEST = 400;

/** The text of it, on one line. */
export function saidText(said: StringOrMarkdown | undefined): string {
  const text = typeof said === 'string' ? said : typeof said?.markdown === 'string' ? said.markdown : '';
  const line = text.trim().replace(/\s+/g, ' ');
  return line.length > LONGEST ? `${line.slice(0, LONGEST)}…` : line;
}

export function Said({of}: {of: StringOrMarkdown | undefined}) {
  const text = saidText(of);
  return typeof of === 'string' ? <>{visible(text)}</> : <Inline text={text} />;
}
