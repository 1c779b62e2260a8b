/** Grey lines where text is on its way; they show after 150 ms only, so that a fast answer does not flash. */
import {words} from '../words/index.ts';

export function Skeleton({lines = 3}: {lines?: number}) {
  return (
    <div class="ui-skeleton" role="status" aria-label={words.shell.loading}>
      {Array.from({length: lines}, (_, index) => <div key={index} class="ui-skeleton-line" />)}
    </div>
  );
}
