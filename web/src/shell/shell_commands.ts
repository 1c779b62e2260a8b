/** The commands that work everywhere. */
import {useEffect} from 'preact/hooks';
import {PANELS, type Route, type SessionRoute, go, route} from '../route.ts';
import type {Store} from '../store/index.ts';
import {type Command, command} from '../ui/commands.ts';
import {THEMES, theme} from '../ui/theme.ts';
import {words} from '../words/index.ts';
import {helpIsOpen} from './help.tsx';
import {paletteIsOpen} from './palette.tsx';
import {withoutPanel} from './panel_pane.tsx';
import {toggleList} from './panes.ts';
import {goToNextWaiting} from './waiting.ts';

const texts = words.shell.commands;

/** Offer the commands while the page is shown. */
export function useShellCommands(store: Store): void {
  useEffect(() => {
    const ends = shellCommands(store).map(each => command({group: texts.group, ...each}));
    return () => ends.forEach(end => end());
  }, [store]);
}

const here = (): SessionRoute | undefined => {
  const at = route.peek();
  return at.at === 'session' ? at : undefined;
};
const inSession = (): boolean => here() !== undefined;
const togglePanel = (): void => {
  const at = here();
  if (at) go(at.panel ? withoutPanel(at) : {...at, panel: 'changes'});
};

function shellCommands(store: Store): Command[] {
  const place = (id: string, name: string, to: Route, keys?: readonly string[]): Command => ({id: `go.${id}`, words: name, run: () => go(to), ...(keys ? {keys} : {})});
  return [
    {id: 'palette', words: texts.palette, keys: ['Mod+K'], run: () => void (paletteIsOpen.value = !paletteIsOpen.peek())},
    {id: 'waiting.next', words: texts.nextWaiting, keys: ['Mod+J'], when: () => store.waiting.peek().length > 0, run: () => goToNextWaiting(store)},
    place('new', texts.newSession, {at: 'new'}, ['c']),
    place('sessions', texts.goSessions, {at: 'list'}),
    place('automations', texts.goAutomations, {at: 'automations'}),
    place('settings', texts.goSettings, {at: 'settings'}),
    place('inspect', texts.goInspector, {at: 'inspect'}),
    {id: 'list.toggle', words: texts.toggleList, keys: ['Mod+B'], run: toggleList},
    {id: 'panel.toggle', words: texts.togglePanel, when: inSession, run: togglePanel},
    ...PANELS.map(panel => ({
      id: `panel.${panel}`,
      words: texts.panel(words.shell.panels[panel]),
      when: inSession,
      run: () => go({...withoutPanel(here()!), panel}),
    })),
    {id: 'pane.left', words: texts.leftPane, keys: ['['], run: () => focusPane(-1)},
    {id: 'pane.right', words: texts.rightPane, keys: [']'], run: () => focusPane(1)},
    ...THEMES.map(each => ({id: `theme.${each}`, words: texts.theme(words.shell.themes[each]), run: () => void (theme.value = each)})),
    {id: 'help', words: texts.help, keys: ['?'], run: () => void (helpIsOpen.value = true)},
  ];
}

const PANES = ['shell-list', 'shell-main', 'shell-panel'];

/** Put the focus into the pane beside the one that has it. */
function focusPane(by: number): void {
  const panes = PANES.map(id => document.getElementById(id)).filter(pane => pane !== null);
  const from = panes.findIndex(pane => pane.contains(document.activeElement));
  const to = panes[Math.min(panes.length - 1, Math.max(0, (from < 0 ? panes.findIndex(pane => pane.id === 'shell-main') : from) + by))];
  const current = to?.querySelector<HTMLElement>('[aria-current="page"]');
  (to?.id === 'shell-list' ? current ?? to.querySelector<HTMLElement>('a, button, input') : to)?.focus();
}
