/** The diff worker: aligns two texts off the page's own thread. */
import {diffRows} from './diff_rows.ts';
import type {DiffAsk, DiffTold} from './messages.ts';

addEventListener('message', (event: MessageEvent<DiffAsk>) => {
  const {id, before, after} = event.data;
  const told: DiffTold = {id, ...diffRows(before, after)};
  (postMessage as (message: DiffTold) => void)(told);
});
