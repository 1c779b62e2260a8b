/** The page of the automations. */
import {words} from '../words/index.ts';

export function AutomationsPage() {
  return <h1>{words.automations.title}</h1>;
}
