/** The page's frame: which room is where. */
import './shell.css';
import {useEffect} from 'preact/hooks';
import {AutomationsPage, ChatPage, InspectPage, NewSessionPage, SessionListPane, SettingsPage} from '../rooms.ts';
import {type Route, type SessionRoute, route} from '../route.ts';
import {useFollowed, useStore} from '../store/index.ts';
import {chatOf} from '../store/session_chats.ts';
import {LiveRegion} from '../ui/announce.tsx';
import {runKeys} from '../ui/commands.ts';
import {ErrorBoundary} from '../ui/error_boundary.tsx';
import {panelViews} from '../ui/registry.tsx';
import {startClock} from '../ui/time.ts';
import {Toasts} from '../ui/toast.tsx';
import {words} from '../words/index.ts';

export function App() {
  useEffect(() => {
    startClock();
    document.addEventListener('keydown', runKeys);
    return () => document.removeEventListener('keydown', runKeys);
  }, []);
  const at = route.value;
  return (
    <div class="shell">
      <nav class="shell-list" aria-label={words.shell.sessions}>
        <ErrorBoundary><SessionListPane /></ErrorBoundary>
      </nav>
      <main class="shell-main">
        <ErrorBoundary of={at}><Room at={at} /></ErrorBoundary>
      </main>
      {at.at === 'session' && at.panel && (
        <aside class="shell-panel" aria-label={words.shell.workspace}>
          <ErrorBoundary of={at}><PanelPane at={at} /></ErrorBoundary>
        </aside>
      )}
      <Toasts />
      <LiveRegion />
    </div>
  );
}

function Room({at}: {at: Route}) {
  switch (at.at) {
    case 'session': return <ChatPage key={at.session} session={at.session} chat={at.chat} turn={at.turn} />;
    case 'new': return <NewSessionPage />;
    case 'automations': return <AutomationsPage />;
    case 'settings': return <SettingsPage />;
    case 'inspect': return <InspectPage />;
    case 'list': return <p class="shell-empty">{words.shell.pickSession}</p>;
  }
}

function PanelPane({at}: {at: SessionRoute}) {
  const store = useStore();
  const session = useFollowed(() => store.session(at.session), [at.session]);
  const chat = chatOf(session.state.value, at.chat);
  const View = panelViews.get(at.panel ?? 'changes');
  return chat ? <View session={at.session} chat={chat} /> : null;
}
