/** Asks the diff worker. */
import {Asker} from './asker.ts';
import {type Aligned, diffRows} from './diff_rows.ts';
// oxlint-disable-next-line import/default -- Vite makes it
import url from './diff.worker.ts?worker&url';
import type {DiffAsk, DiffTold} from './messages.ts';

const asker = new Asker<DiffAsk, DiffTold>(url);
// Milliseconds for which the page itself may stand still, where it has no worker.
const OWN_PATIENCE = 30;

/** Align two texts; always answers, in the end without a worker. */
export async function alignedTexts(before: string, after: string): Promise<Aligned> {
  return (await asker.ask({before, after})) ?? diffRows(before, after, {patience: OWN_PATIENCE});
}
