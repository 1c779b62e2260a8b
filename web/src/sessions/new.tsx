/** Starting a session. */
import {words} from '../words/index.ts';

export function NewSessionPage() {
  return <h1>{words.sessions.newSession}</h1>;
}
