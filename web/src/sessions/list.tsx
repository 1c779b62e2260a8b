/** The list of sessions. */
import {useStore} from '../store/index.ts';
import {To} from '../ui/to.tsx';
import {words} from '../words/index.ts';

export interface SessionListPaneProps {
  /** Whether only what waits is shown, as on the phone's first tab. */
  readonly onlyWaiting?: boolean | undefined;
}

export function SessionListPane(_: SessionListPaneProps) {
  const {sessions} = useStore();
  if (!sessions.value.length) return <p>{words.sessions.empty}</p>;
  return (
    <ul>
      {sessions.value.map(session => (
        <li key={session.resource}>
          <To route={{at: 'session', session: session.resource}}>{session.title}</To>
        </li>
      ))}
    </ul>
  );
}
