/** The room and what stands around it, at every width: the room stays when the width changes, with all that it has open. */
import {type Route, route} from '../route.ts';
import {ErrorBoundary} from '../ui/error_boundary.tsx';
import {width} from '../ui/width.ts';
import {ConnectionBar} from './connection_bar.tsx';
import {ListRoom, ListSide, PanelSide} from './desktop.tsx';
import {listIsShown} from './panes.ts';
import {BottomTabs, ChatTop, ListTab, PanelOver} from './phone.tsx';
import {Room} from './room.tsx';

export function Frame() {
  const at = route.value;
  const isPhone = width.value === 'phone';
  const session = at.at === 'session' ? at : undefined;
  return (
    <>
      {!isPhone && <ListSide />}
      <div class="shell-column">
        {isPhone && session && <ChatTop at={session} />}
        <ConnectionBar />
        <div class="shell-room">
          <main class="shell-main" id="shell-main" tabIndex={-1} inert={isPhone && session?.panel !== undefined}>
            <ErrorBoundary of={session?.session ?? at}><Inside at={at} isPhone={isPhone} /></ErrorBoundary>
          </main>
          {isPhone && session?.panel && <PanelOver at={session} panel={session.panel} />}
        </div>
        {isPhone && !session && <BottomTabs at={at} />}
      </div>
      {!isPhone && session && <PanelSide at={session} />}
    </>
  );
}

/** The room; the list is one where it does not stand beside it. */
function Inside({at, isPhone}: {at: Route; isPhone: boolean}) {
  if (at.at !== 'list') return <Room at={at} />;
  if (isPhone) return <ListTab />;
  return listIsShown.value ? <Room at={at} /> : <ListRoom />;
}
