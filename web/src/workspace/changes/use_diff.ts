/** Aligning texts and measuring room for them, as components use it. */
import {useEffect, useState} from 'preact/hooks';
import {alignedTexts} from '../../workers/diff.ts';
import type {Aligned} from '../../workers/diff_rows.ts';

/** Pixels of a diff's own width from which both sides stand side by side. */
export const SPLIT_FROM = 900;

/** The rows of a diff; undefined until they are there, the old ones while new ones are made. */
export function useDiff(before: string, after: string): Aligned | undefined {
  const [aligned, setAligned] = useState<Aligned>();
  useEffect(() => {
    let isWanted = true;
    void alignedTexts(before, after).then(told => {
      if (isWanted) setAligned(told);
    });
    return () => {
      isWanted = false;
    };
  }, [before, after]);
  return aligned;
}

/** Whether an element is at least so wide. */
export function useIsWide(box: {readonly current: HTMLElement | null}, from: number): boolean {
  const [isWide, setWide] = useState(false);
  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const watch = new ResizeObserver(() => setWide(element.clientWidth >= from));
    watch.observe(element);
    setWide(element.clientWidth >= from);
    return () => watch.disconnect();
  }, [from]);
  return isWide;
}
