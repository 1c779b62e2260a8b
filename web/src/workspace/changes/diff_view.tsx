/** A diff of two texts: side by side where there is room, else one below the other. */
import {useMemo, useRef, useState} from 'preact/hooks';
import {Button} from '../../ui/button.tsx';
import {Skeleton} from '../../ui/skeleton.tsx';
import {VirtualList} from '../../ui/virtual_list.tsx';
import {words} from '../../words/index.ts';
import {DiffLineView} from './diff_line.tsx';
import {type DiffLine, diffLines} from './diff_lines.ts';
import {SPLIT_FROM, useDiff, useIsWide} from './use_diff.ts';
import './diff.css';

export interface DiffViewProps {
  readonly before: string;
  readonly after: string;
  /** Lines shown at most, until somebody asks for all. */
  readonly limit?: number | undefined;
}

// More than this scroll in a box of their own, of which only what is seen is built.
const MOST_BUILT = 300;
const LINE_HEIGHT = 20;

export function DiffView({before, after, limit}: DiffViewProps) {
  const aligned = useDiff(before, after);
  const box = useRef<HTMLDivElement>(null);
  const split = useIsWide(box, SPLIT_FROM);
  const [opened, setOpened] = useState<ReadonlySet<number>>(new Set());
  const [isWhole, setWhole] = useState(limit === undefined);
  // Within a limit, what is new must be seen beside what is gone.
  const together = isWhole || limit === undefined ? undefined : Math.ceil(limit / 2);
  const lines = useMemo(() => (aligned ? diffLines(aligned.rows, {split, opened, ...(together ? {together} : {})}) : []), [aligned, split, opened, together]);
  const openGap = (from: number): void => setOpened(new Set(opened).add(from));
  const first = aligned?.tooDifferent && together ? ofBoth(lines, together) : lines;
  const most = isWhole ? lines.length : Math.min(limit ?? lines.length, lines.length);
  return (
    <div class="diff" ref={box}>
      {!aligned && <Skeleton lines={3} />}
      {aligned?.tooDifferent && <p class="diff-note">{words.workspace.tooDifferent}</p>}
      {aligned && !lines.length && <p class="diff-note">{words.workspace.emptyFile}</p>}
      <Lines lines={first.slice(0, most)} onOpenGap={openGap} />
      {most < lines.length && <Button kind="quiet" class="diff-all" onClick={() => setWhole(true)}>{words.workspace.showAllLines(lines.length)}</Button>}
    </div>
  );
}

/** The first lines of either side, where one would hide the other. */
function ofBoth(lines: readonly DiffLine[], of: number): readonly DiffLine[] {
  const isOld = (line: DiffLine): boolean => (line.is === 'line' ? line.kind === 'del' : line.is === 'pair' && line.row.kind === 'del');
  return [...lines.filter(isOld).slice(0, of), ...lines.filter(line => !isOld(line)).slice(0, of)];
}

function Lines({lines, onOpenGap}: {lines: readonly DiffLine[]; onOpenGap: (from: number) => void}) {
  if (lines.length <= MOST_BUILT) return <div class="diff-lines">{lines.map(line => <DiffLineView key={line.key} line={line} onOpenGap={onOpenGap} />)}</div>;
  return (
    <div class="diff-scrolled">
      <VirtualList rows={lines} keyOf={line => line.key} estimate={LINE_HEIGHT} label={words.workspace.diff} role="presentation"
        renderRow={line => <DiffLineView line={line} onOpenGap={onOpenGap} />} />
    </div>
  );
}
