/** The diff worker: aligns two texts off the page's own thread. */
import {type DiffRow, diffRows} from './diff_rows.ts';

export interface DiffAsk {
  id: number;
  before: string;
  after: string;
}
export interface DiffTold {
  id: number;
  rows: DiffRow[];
  tooDifferent: boolean;
}

addEventListener('message', (event: MessageEvent<DiffAsk>) => {
  const {id, before, after} = event.data;
  const told: DiffTold = {id, ...diffRows(before, after)};
  (postMessage as (message: DiffTold) => void)(told);
});
