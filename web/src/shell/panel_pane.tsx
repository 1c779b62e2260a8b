/** The workspace beside or over a chat: its tabs, and the panel that is chosen. */
import {X} from 'lucide';
import {PANELS, type SessionRoute, go} from '../route.ts';
import {useFollowed, useStore} from '../store/index.ts';
import {chatOf} from '../store/session_chats.ts';
import {Button} from '../ui/button.tsx';
import {ErrorBoundary} from '../ui/error_boundary.tsx';
import {Icon} from '../ui/icon.tsx';
import {panelViews} from '../ui/registry.tsx';
import {Skeleton} from '../ui/skeleton.tsx';
import {To} from '../ui/to.tsx';
import {words} from '../words/index.ts';
import {PANEL_ICONS} from './glyphs.ts';

/** The place without its panel. */
export const withoutPanel = (at: SessionRoute): SessionRoute => ({...at, panel: undefined, file: undefined, line: undefined});

export function PanelTabs({at}: {at: SessionRoute}) {
  return (
    <nav class="shell-tabs" aria-label={words.shell.workspace}>
      {PANELS.map(panel => (
        <To key={panel} class="shell-tab" route={{...withoutPanel(at), panel}} current={at.panel === panel}>
          <Icon of={PANEL_ICONS[panel]} />
          <span>{words.shell.panels[panel]}</span>
        </To>
      ))}
      <span class="shell-tabs-gap" />
      <Button kind="quiet" icon={X} label={words.shell.closePanel} onClick={() => go(withoutPanel(at))} />
    </nav>
  );
}

/** The chosen panel of a session. */
export function PanelRoom({at}: {at: SessionRoute}) {
  const store = useStore();
  const session = useFollowed(() => store.session(at.session), [at.session]);
  const chat = chatOf(session.state.value, at.chat);
  const View = panelViews.get(at.panel ?? 'changes');
  if (!chat) return <Skeleton lines={5} />;
  return (
    <div class="shell-panel-room">
      <ErrorBoundary of={at.panel}><View session={at.session} chat={chat} /></ErrorBoundary>
    </div>
  );
}
