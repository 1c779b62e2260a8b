/** A line that an agent words, as plain text or markdown, with nothing hidden in it. */
import type {StringOrMarkdown} from '../ahp/index.ts';
import {Inline} from '../markdown/inline.tsx';
import {visible} from '../ui/safe.tsx';
import {textOf} from './approval.ts';
import {Spelled} from './exact_text.tsx';

/** Characters of such a line. */
const MOST = 2000;

export function Told({of}: {of: StringOrMarkdown | undefined}) {
  if (of === undefined || of === null || typeof of === 'string') return <Spelled text={of ?? ''} most={MOST} />;
  // A character reference could bring back what was just spelled out.
  return <Inline text={visible(textOf(of).slice(0, MOST)).replaceAll('&', '&amp;')} />;
}
