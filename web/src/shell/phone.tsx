/** What stands around the room on a phone: tabs at the bottom; in a chat the composer is there, and tabs are on top. */
import {ArrowLeft, Ellipsis, type IconNode, MessageSquare, Plus, Search} from 'lucide';
import {signal} from '@preact/signals';
import {useRef, useState} from 'preact/hooks';
import {SessionListPane} from '../rooms.ts';
import {type Panel, type Route, type SessionRoute, go} from '../route.ts';
import {Button} from '../ui/button.tsx';
import {Icon} from '../ui/icon.tsx';
import {Menu} from '../ui/popover.tsx';
import {To} from '../ui/to.tsx';
import {words} from '../words/index.ts';
import {PANEL_ICONS, PLACE_ICONS} from './glyphs.ts';
import {paletteIsOpen} from './palette.tsx';
import {PanelRoom, withoutPanel} from './panel_pane.tsx';
import {WaitingCount} from './rails.tsx';

type Tab = 'needsYou' | 'sessions' | 'more';

/** Which of the tabs that share the list's address is in front. */
export const tab = signal<Tab>('sessions');

/** The list, as the tab in front shows it. */
export function ListTab() {
  if (tab.value === 'more') return <More />;
  const waits = tab.value === 'needsYou';
  return (
    <>
      <header class="shell-phone-head">
        <h1>{waits ? words.shell.needsYou : words.shell.sessions}</h1>
        {waits && <WaitingCount />}
      </header>
      <SessionListPane key={tab.value} onlyWaiting={waits} />
    </>
  );
}

function More() {
  const places: readonly [Route, keyof typeof PLACE_ICONS, string][] = [
    [{at: 'automations'}, 'automations', words.shell.automations],
    [{at: 'settings'}, 'settings', words.shell.settings],
    [{at: 'inspect'}, 'inspector', words.shell.inspector],
  ];
  return (
    <>
      <header class="shell-phone-head"><h1>{words.shell.more}</h1></header>
      <nav class="shell-more" aria-label={words.shell.more}>
        {places.map(([to, icon, name]) => (
          <To key={to.at} class="shell-more-item" route={to}><Icon of={PLACE_ICONS[icon]} />{name}</To>
        ))}
        <button type="button" class="shell-more-item" onClick={() => void (paletteIsOpen.value = true)}><Icon of={Search} />{words.shell.palette.title}</button>
      </nav>
    </>
  );
}

export function BottomTabs({at}: {at: Route}) {
  const onList = at.at === 'list';
  const choose = (chosen: Tab): void => {
    tab.value = chosen;
    if (!onList) go({at: 'list'});
  };
  const isMore = tab.value === 'more' ? onList : at.at === 'automations' || at.at === 'settings' || at.at === 'inspect';
  return (
    <nav class="shell-bottom" aria-label={words.shell.places}>
      <BottomTab icon={PLACE_ICONS.needsYou} name={words.shell.needsYou} current={onList && tab.value === 'needsYou'} onClick={() => choose('needsYou')} counts />
      <BottomTab icon={PLACE_ICONS.sessions} name={words.shell.sessions} current={onList && tab.value === 'sessions'} onClick={() => choose('sessions')} />
      <BottomTab icon={Plus} name={words.shell.new} current={at.at === 'new'} onClick={() => go({at: 'new'})} />
      <BottomTab icon={Ellipsis} name={words.shell.more} current={isMore} onClick={() => choose('more')} />
    </nav>
  );
}

interface BottomTabProps {
  readonly icon: IconNode;
  readonly name: string;
  readonly current: boolean;
  readonly onClick: () => void;
  readonly counts?: boolean;
}

function BottomTab({icon, name, current, onClick, counts}: BottomTabProps) {
  return (
    <button type="button" class="shell-bottom-tab" aria-current={current ? 'page' : undefined} onClick={onClick}>
      <span class="shell-bottom-icon"><Icon of={icon} size={20} />{counts && <WaitingCount />}</span>
      {name}
    </button>
  );
}

/** The workspace over the whole room. */
export function PanelOver({at, panel}: {at: SessionRoute; panel: Panel}) {
  return <aside class="shell-over" aria-label={words.shell.panels[panel]}><PanelRoom at={at} /></aside>;
}

const OTHERS: readonly Panel[] = ['files', 'notes', 'tools'];

/** Back, and Chat | Changes | Terminals. */
export function ChatTop({at}: {at: SessionRoute}) {
  const more = useRef<HTMLButtonElement>(null);
  const [isOpen, setOpen] = useState(false);
  const panelTab = (panel: Panel) => (
    <To class="shell-tab" route={{...withoutPanel(at), panel}} current={at.panel === panel}><span>{words.shell.panels[panel]}</span></To>
  );
  const other = OTHERS.find(panel => panel === at.panel);
  return (
    <nav class="shell-top" aria-label={words.shell.workspace}>
      <span class="shell-rail-item">
        <Button kind="quiet" icon={ArrowLeft} label={words.shell.back} onClick={() => go({at: 'list'})} />
        <WaitingCount />
      </span>
      <To class="shell-tab" route={withoutPanel(at)} current={at.panel === undefined}><span>{words.shell.chat}</span></To>
      {panelTab('changes')}
      {panelTab('terminals')}
      {other && panelTab(other)}
      <span class="shell-tabs-gap" />
      <Button kind="quiet" icon={Ellipsis} label={words.shell.more} popup="menu" expanded={isOpen} buttonRef={more} onClick={() => setOpen(!isOpen)} />
      {isOpen && (
        <Menu
          anchor={more}
          label={words.shell.more}
          placement="bottom-end"
          onClose={() => setOpen(false)}
          items={[
            {id: 'chat', words: words.shell.chat, icon: MessageSquare, run: () => go(withoutPanel(at))},
            ...OTHERS.map(panel => ({id: panel, words: words.shell.panels[panel], icon: PANEL_ICONS[panel], run: () => go({...withoutPanel(at), panel})})),
          ]}
        />
      )}
    </nav>
  );
}
