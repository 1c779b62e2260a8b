/** What stands beside the room from 700 px on: list and workspace, or the list as a drawer and the workspace over the room. */
import type {ComponentChild} from 'preact';
import {useEffect, useRef} from 'preact/hooks';
import {SessionListPane} from '../rooms.ts';
import {type SessionRoute, pushLayer, route} from '../route.ts';
import {ErrorBoundary} from '../ui/error_boundary.tsx';
import {ToastsInModal} from '../ui/toast.tsx';
import {width} from '../ui/width.ts';
import {words} from '../words/index.ts';
import {PanelRoom, PanelTabs} from './panel_pane.tsx';
import {LIST_LEAST, LIST_MOST, PANEL_LEAST, drawerIsOpen, listIsShown, listWidth, panelMost, panelWidth, setListWidth, setPanelWidth} from './panes.ts';
import {ListFoot, ListHead, ListRail, PanelRail} from './rails.tsx';
import {Splitter} from './splitter.tsx';

/** The list, beside the room or over it. */
export function ListSide() {
  return (
    <>
      {listIsShown.value ? <ListPane /> : <ListRail />}
      {width.value !== 'wide' && drawerIsOpen.value && <Drawer />}
    </>
  );
}

/** The workspace of a session, beside the room or over it. */
export function PanelSide({at}: {at: SessionRoute}) {
  return at.panel ? <PanelPane at={at} isWide={width.value === 'wide'} /> : <PanelRail at={at} />;
}

/** The list as the room itself, where it does not stand beside it. */
export function ListRoom() {
  return (
    <nav class="shell-list-alone" aria-label={words.shell.sessions}>
      <SessionListPane />
    </nav>
  );
}

function ListPane() {
  return (
    <div class="shell-list" id="shell-list" style={{width: `${listWidth.value}px`}}>
      <ListInside splitter={<Splitter label={words.shell.resizeList} pane="left" value={listWidth.value} least={LIST_LEAST} most={LIST_MOST} onChange={setListWidth} />} />
    </div>
  );
}

function ListInside({splitter}: {splitter?: ComponentChild}) {
  return (
    <>
      <ListHead />
      <nav class="shell-list-room" aria-label={words.shell.sessions}>
        <ErrorBoundary><SessionListPane /></ErrorBoundary>
        {splitter}
      </nav>
      <ListFoot />
    </>
  );
}

/** The list over the page; going anywhere, Escape, Back and a press beside it close it. */
function Drawer() {
  const dialog = useRef<HTMLDialogElement>(null);
  const close = (): void => void (drawerIsOpen.value = false);
  useEffect(() => {
    dialog.current?.showModal();
    const drop = pushLayer(close);
    const from = route.peek();
    const stop = route.subscribe(to => {
      if (to !== from) close();
    });
    return () => {
      stop();
      drop();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      class="shell-drawer"
      id="shell-list"
      aria-label={words.shell.sessions}
      onCancel={close}
      onClick={event => {
        if (event.target === dialog.current) close();
      }}
    >
      <ListInside />
      <ToastsInModal />
    </dialog>
  );
}

function PanelPane({at, isWide}: {at: SessionRoute; isWide: boolean}) {
  const name = at.panel ? words.shell.panels[at.panel] : words.shell.workspace;
  return (
    <aside class={isWide ? 'shell-panel' : 'shell-panel over'} id="shell-panel" tabIndex={-1} aria-label={name} style={isWide ? {width: `${panelWidth.value}px`} : {}}>
      {isWide && <Splitter label={words.shell.resizePanel} pane="right" value={panelWidth.value} least={PANEL_LEAST} most={panelMost.value} onChange={setPanelWidth} />}
      <PanelTabs at={at} />
      <PanelRoom at={at} />
    </aside>
  );
}
