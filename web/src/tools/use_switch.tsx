/** Whether an entry is used: a switch for this session, and the scopes beside it where there are any. */
import {SlidersHorizontal} from 'lucide';
import {useId, useRef, useState} from 'preact/hooks';
import type {SessionState} from '../ahp/index.ts';
import {type Act, useStore} from '../store/index.ts';
import {Button} from '../ui/button.tsx';
import {useWhyNot} from '../ui/may_act.ts';
import {Popover} from '../ui/popover.tsx';
import {words} from '../words/index.ts';
import {type Entry, isOn} from './entries.ts';
import {type Scope, decisionIn, scopesOf, toggled} from './model.ts';
import {short} from './short.ts';

export interface UseSwitchProps {
  readonly uri: string;
  readonly session: SessionState;
  readonly entry: Entry;
  /** Told of each decision that is on its way. */
  onAct(act: Act): void;
}

export function UseSwitch({uri, session, entry, onAct}: UseSwitchProps) {
  const store = useStore();
  const whyNot = useWhyNot();
  const name = short(entry.name);
  const decide = (scope: Scope, enabled: boolean | undefined): void => onAct(store.act(uri, toggled(session, entry, scope, enabled), entry.id));
  return (
    <span class="tools-use" title={whyNot}>
      {(entry.type === 'plugin' || entry.type === 'mcpServer') && <Scopes session={session} entry={entry} decide={decide} whyNot={whyNot} />}
      <label class="forms-tick tools-switch">
        <span class="hidden-text">{words.tools.use(name)}</span>
        <input class="forms-switch" type="checkbox" role="switch" checked={isOn(entry)} disabled={whyNot !== undefined} onChange={event => decide('session', event.currentTarget.checked)} />
      </label>
    </span>
  );
}

type ScopesProps = Pick<UseSwitchProps, 'session' | 'entry'> & {readonly whyNot: string | undefined; decide(scope: Scope, enabled: boolean | undefined): void};

function Scopes({session, entry, decide, whyNot}: ScopesProps) {
  const anchor = useRef<HTMLButtonElement>(null);
  const [isOpen, setOpen] = useState(false);
  const isOperator = useStore().me.value?.role === 'operator';
  const label = words.tools.where(short(entry.name));
  return (
    <>
      <Button kind="quiet" icon={SlidersHorizontal} label={label} popup="dialog" expanded={isOpen} buttonRef={anchor} whyNot={whyNot} onClick={() => setOpen(!isOpen)} />
      {isOpen && (
        <Popover anchor={anchor} label={label} placement="bottom-end" class="tools-scopes" onClose={() => setOpen(false)}>
          <strong>{words.tools.whereTitle}</strong>
          {scopesOf(session).map(scope => <ScopeRow key={scope} scope={scope} value={decisionIn(entry, scope)} isFixed={scope !== 'session' && isOperator} decide={enabled => decide(scope, enabled)} />)}
          {isOperator && <p class="tools-about">{words.tools.ownersDecide}</p>}
          <p class="tools-about">{words.tools.firstCounts}</p>
        </Popover>
      )}
    </>
  );
}

const CHOICES = {none: undefined, on: true, off: false} as const;
type Choice = keyof typeof CHOICES;
const NAMES = Object.keys(CHOICES) as Choice[];

function ScopeRow({scope, value, isFixed, decide}: {scope: Scope; value: boolean | undefined; isFixed: boolean; decide(enabled: boolean | undefined): void}) {
  const id = useId();
  const chosen = NAMES.find(name => CHOICES[name] === value);
  return (
    <div class="tools-scope">
      <label for={id}>{words.tools.scopes[scope]}</label>
      <select id={id} class="forms-input" value={chosen} disabled={isFixed} onChange={event => decide(CHOICES[event.currentTarget.value as Choice])}>
        {NAMES.map(name => <option key={name} value={name}>{words.tools.decisions[name]}</option>)}
      </select>
    </div>
  );
}
