/** One line of a diff. */
import type {ComponentChildren} from 'preact';
import {visible} from '../../ui/safe.tsx';
import {words} from '../../words/index.ts';
import type {Side} from '../../workers/diff_rows.ts';
import type {DiffLine} from './diff_lines.ts';
import './diff.css';

export interface DiffLineProps {
  readonly line: DiffLine;
  readonly onOpenGap: (from: number) => void;
  /** What stands at the number of a line of the file as it is now, if not the number alone. */
  readonly gutter?: ((line: number) => ComponentChildren) | undefined;
}

const SIGNS = {same: ' ', del: '−', add: '+'} as const;
type LineKind = keyof typeof SIGNS;

export function DiffLineView({line, onOpenGap, gutter}: DiffLineProps) {
  if (line.is === 'gap') {
    return (
      <button type="button" class="diff-gap" onClick={() => onOpenGap(line.from)}>
        {words.workspace.unchanged(line.count)}
      </button>
    );
  }
  if (line.is === 'line') {
    return <div class="diff-line"><Half kind={line.kind} at={line.side} gutter={line.kind === 'del' ? undefined : gutter} /></div>;
  }
  const {kind, left, right} = line.row;
  return (
    <div class="diff-line split">
      <Half kind={kind === 'same' ? 'same' : 'del'} at={left} gutter={undefined} />
      <Half kind={kind === 'same' ? 'same' : 'add'} at={right} gutter={gutter} />
    </div>
  );
}

function Half({kind, at, gutter}: {kind: LineKind; at: Side | undefined; gutter: DiffLineProps['gutter']}) {
  if (!at) return <div class="diff-half none" />;
  const [number, spans, mark] = at;
  return (
    <div class={`diff-half ${kind}`}>
      <span class="diff-number">{gutter?.(number) ?? number}</span>
      <span class="diff-sign">{SIGNS[kind]}</span>
      <code class="diff-text">
        {spans.map(([text, marked], index) => (marked ? <mark key={index}>{visible(text)}</mark> : visible(text)))}
        {mark && <span class="diff-mark">{words.workspace.lineMarks[mark]}</span>}
      </code>
    </div>
  );
}
