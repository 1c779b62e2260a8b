/** Why something asked of the host did not come about, in words. */
import {LinkLost, WireError} from '../ahp/index.ts';
import {words} from '../words/index.ts';

/** The words for a request that failed; one whose answer was lost may have been carried out, if it changes anything. */
export function failureText(error: unknown, o: {changes?: boolean} = {}): string {
  if (error instanceof WireError) return words.link.refused(error.message);
  if (error instanceof LinkLost) return o.changes ? words.link.uncertain : words.link.disconnected;
  return error instanceof Error ? error.message : String(error);
}
