/** Narrow columns of icons where a pane is folded away. */
import {PanelLeft, PanelLeftClose, Plus, Search} from 'lucide';
import {PANELS, type Route, type SessionRoute, route} from '../route.ts';
import {useStore} from '../store/index.ts';
import {Button} from '../ui/button.tsx';
import {shownKeys} from '../ui/commands.ts';
import {Icon} from '../ui/icon.tsx';
import {To} from '../ui/to.tsx';
import {words} from '../words/index.ts';
import {PANEL_ICONS, PLACE_ICONS} from './glyphs.ts';
import {paletteIsOpen} from './palette.tsx';
import {drawerIsOpen, toggleList} from './panes.ts';

const PLACES: readonly [to: Route, icon: keyof typeof PLACE_ICONS, name: string][] = [
  [{at: 'automations'}, 'automations', words.shell.automations],
  [{at: 'settings'}, 'settings', words.shell.settings],
  [{at: 'inspect'}, 'inspector', words.shell.inspector],
];

/** How many things wait, as a number beside what leads to them. */
export function WaitingCount() {
  const count = useStore().waiting.value.length;
  return count ? <span class="shell-count">{count}</span> : null;
}

/** The rail at the left, in place of the list. */
export function ListRail() {
  const waiting = useStore().waiting.value.length;
  return (
    <nav class="shell-rail left" aria-label={words.shell.places}>
      <span class="shell-rail-item">
        <Button kind="quiet" icon={PanelLeft} label={waiting ? words.shell.openListWaiting(waiting) : words.shell.openList} expanded={drawerIsOpen.value} onClick={toggleList} />
        <WaitingCount />
      </span>
      <To class="ui-button quiet icon-only" route={{at: 'new'}} label={words.shell.newSession} current={route.value.at === 'new'}><Icon of={Plus} /></To>
      <PaletteButton />
      <span class="shell-rail-gap" />
      {PLACES.map(([to, icon, name]) => (
        <To key={to.at} class="ui-button quiet icon-only" route={to} label={name} current={route.value.at === to.at}><Icon of={PLACE_ICONS[icon]} /></To>
      ))}
    </nav>
  );
}

/** Opens the palette, and tells its key. */
function PaletteButton() {
  return <Button kind="quiet" icon={Search} label={words.shell.paletteWith(shownKeys('Mod+K'))} popup="dialog" onClick={() => void (paletteIsOpen.value = true)} />;
}

/** The head of the list: the page's name, the palette, a new session, and hiding the list. */
export function ListHead() {
  return (
    <header class="shell-head">
      <To class="shell-name" route={{at: 'list'}}>{words.shell.name}</To>
      <PaletteButton />
      <To class="ui-button quiet icon-only" route={{at: 'new'}} label={words.shell.newSession}><Icon of={Plus} /></To>
      <Button kind="quiet" icon={PanelLeftClose} label={words.shell.closeList} onClick={toggleList} />
    </header>
  );
}

/** The foot of the list: the other places. */
export function ListFoot() {
  return (
    <footer class="shell-foot">
      {PLACES.map(([to, icon, name]) => (
        <To key={to.at} class="shell-foot-item" route={to} current={route.value.at === to.at}>
          <Icon of={PLACE_ICONS[icon]} />
          {name}
        </To>
      ))}
    </footer>
  );
}

/** The rail at the right, in place of the workspace. */
export function PanelRail({at}: {at: SessionRoute}) {
  return (
    <nav class="shell-rail right" aria-label={words.shell.workspace}>
      {PANELS.map(panel => (
        <To key={panel} class="ui-button quiet icon-only" route={{...at, panel, file: undefined, line: undefined}} label={words.shell.panels[panel]} current={at.panel === panel}>
          <Icon of={PANEL_ICONS[panel]} />
        </To>
      ))}
    </nav>
  );
}
