/** The room that an address names. */
import {AutomationsPage, ChatPage, InspectPage, NewSessionPage, SettingsPage} from '../rooms.ts';
import type {Route} from '../route.ts';
import {useStore} from '../store/index.ts';
import {To} from '../ui/to.tsx';
import {words} from '../words/index.ts';

export function Room({at}: {at: Route}) {
  switch (at.at) {
    case 'session': return <ChatPage key={at.session} session={at.session} chat={at.chat} turn={at.turn} />;
    case 'new': return <NewSessionPage />;
    case 'automations': return <AutomationsPage />;
    case 'settings': return <SettingsPage />;
    case 'inspect': return <InspectPage />;
    case 'list': return <Nowhere />;
  }
}

function Nowhere() {
  const {sessions, listed} = useStore();
  const isEmpty = listed.value && !sessions.value.length;
  return (
    <div class="shell-nowhere">
      <p>{isEmpty ? words.shell.firstSession : words.shell.pickSession}</p>
      <To class="ui-button primary" route={{at: 'new'}}>{words.shell.newSession}</To>
    </div>
  );
}
