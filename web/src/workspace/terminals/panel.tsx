/** The workspace panel of terminals: those of the session, and the others of the host. */
import {Ellipsis, Plus, SquareTerminal} from 'lucide';
import {useRef, useState} from 'preact/hooks';
import type {TerminalInfo} from '../../ahp/index.ts';
import {terminalUri} from '../../ahp/uris.ts';
import {go, route, type SessionRoute} from '../../route.ts';
import {useStore} from '../../store/index.ts';
import {ActButton, Button} from '../../ui/button.tsx';
import {newId} from '../../ui/ids.ts';
import {lazy} from '../../ui/lazy.tsx';
import {Menu} from '../../ui/popover.tsx';
import type {ChatRef} from '../../ui/registry.tsx';
import {visible} from '../../ui/safe.tsx';
import {words} from '../../words/index.ts';
import {failureText} from '../failure.ts';
import {hasEnded, listed} from './listed.ts';
import './terminals.css';

const TerminalView = lazy(() => import('./view.tsx').then(room => room.TerminalView));

// The terminals that this window has made: it sets their size until another one does.
const made = new Set<string>();

/** The panel; which terminal it shows stands in the address, as `file`. */
export function TerminalsPanel({session, chat}: ChatRef) {
  const said = words.workspace.terminals;
  const store = useStore();
  const [failure, setFailure] = useState<string>();
  const isCreating = useRef(false);
  // The one that was asked for here a moment ago: who asked for it wants to type into it.
  const newest = useRef<string | undefined>(undefined);
  const at = route.value;
  const here: SessionRoute = at.at === 'session' ? at : {at: 'session', session};
  const {ours, others} = listed(store.root.state.value?.terminals, session);
  const named = here.panel === 'terminals' ? here.file : undefined;
  const shown = named ?? ours[0]?.resource;
  const select = (uri: string): void => go({...here, panel: 'terminals', file: uri, line: undefined}, {replace: true});
  const create = async (event: MouseEvent): Promise<void> => {
    // The second press of a double click wants no second terminal.
    if (isCreating.current || event.detail > 1) return;
    isCreating.current = true;
    const uri = terminalUri(newId());
    setFailure(undefined);
    // Before it is there: the host lists it, and it is shown, before it answers.
    made.add(uri);
    newest.current = uri;
    try {
      await store.ask('createTerminal', {channel: uri, claim: {kind: 'session', session, chat}});
      select(uri);
    } catch (error) {
      setFailure(failureText(error, {changes: true}));
    } finally {
      isCreating.current = false;
    }
  };
  const isWanted = (uri: string): boolean => {
    const is = newest.current === uri;
    if (is) newest.current = undefined;
    return is;
  };
  return (
    <div class="terminals">
      <header class="terminals-list" role="group" aria-label={words.shell.panels.terminals}>
        <div class="terminals-names">
          {ours.map(info => <TerminalName key={info.resource} info={info} isShown={info.resource === shown} onSelect={select} />)}
          {shown !== undefined && !ours.some(info => info.resource === shown) && <OtherName uri={shown} others={others} />}
        </div>
        <OtherTerminals others={others} onSelect={select} />
        <ActButton kind="quiet" icon={Plus} label={said.create} onClick={event => void create(event)} />
      </header>
      {failure !== undefined && <p class="ui-outcome" role="alert">{failure}</p>}
      {shown === undefined
        ? <p class="terminals-note">{said.none} <ActButton icon={SquareTerminal} onClick={event => void create(event)}>{said.create}</ActButton></p>
        : <TerminalView key={shown} uri={shown} isOurs={made.has(shown)} isWanted={isWanted} onRemoved={() => go({...here, file: undefined}, {replace: true})} />}
    </div>
  );
}

function TerminalName({info, isShown, onSelect}: {info: TerminalInfo; isShown: boolean; onSelect: (uri: string) => void}) {
  const title = visible(info.title);
  return (
    <button type="button" class={hasEnded(info.lifecycle) ? 'terminals-name ended' : 'terminals-name'} aria-pressed={isShown} title={title} onClick={() => onSelect(info.resource)}>
      <span>{title}</span>
      {hasEnded(info.lifecycle) && <span class="terminals-ended">{words.workspace.terminals.hasEnded}</span>}
    </button>
  );
}

// A terminal of elsewhere, or one that only a tool's result names.
function OtherName({uri, others}: {uri: string; others: readonly TerminalInfo[]}) {
  const info = others.find(other => other.resource === uri);
  return <span class="terminals-name" aria-current="true">{visible(info?.title ?? words.workspace.terminals.named)}</span>;
}

function OtherTerminals({others, onSelect}: {others: readonly TerminalInfo[]; onSelect: (uri: string) => void}) {
  const said = words.workspace.terminals;
  const anchor = useRef<HTMLButtonElement>(null);
  const [isOpen, setOpen] = useState(false);
  if (!others.length) return null;
  const items = others.map(info => ({id: info.resource, words: visible(info.title), icon: SquareTerminal, run: () => onSelect(info.resource)}));
  return (
    <>
      <Button kind="quiet" icon={Ellipsis} label={said.others(others.length)} popup="menu" expanded={isOpen} buttonRef={anchor} onClick={() => setOpen(!isOpen)} />
      {isOpen && <Menu anchor={anchor} label={said.others(others.length)} items={items} placement="bottom-end" onClose={() => setOpen(false)} />}
    </>
  );
}
