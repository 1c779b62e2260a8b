/** Chips beside the box: which model, which settings of the session, which agent; what is used, what runs beside. */
import {type ReadonlySignal, type Signal, signal, useComputed, useSignal} from '@preact/signals';
import {Bot, ChevronDown, Cpu, Hourglass, SlidersHorizontal} from 'lucide';
import {useRef} from 'preact/hooks';
import type {BackgroundWork, ChatState, SessionState} from '../ahp/index.ts';
import {type Route, route} from '../route.ts';
import {useStore} from '../store/index.ts';
import {Button} from '../ui/button.tsx';
import {Icon} from '../ui/icon.tsx';
import {useWhyNot} from '../ui/may_act.ts';
import {Menu, Popover} from '../ui/popover.tsx';
import type {ChatRef} from '../ui/registry.tsx';
import {visible} from '../ui/safe.tsx';
import {age} from '../ui/time.ts';
import {To} from '../ui/to.tsx';
import {words} from '../words/index.ts';
import {type Choice, type Setting, agentsOf, modelsOf, settingsOf, usageOf, wantedNow} from './choices.ts';
import type {Wanted} from './message.ts';

/** What is wanted of a chat's next messages, where somebody has chosen; kept while the page is open. */
const wanted = new Map<string, Signal<Wanted>>();

export function wantedOf(chat: string): Signal<Wanted> {
  let found = wanted.get(chat);
  if (!found) wanted.set(chat, (found = signal<Wanted>({})));
  return found;
}

export interface ChipsProps {
  readonly at: ChatRef;
  readonly chat: ReadonlySignal<ChatState | undefined>;
  readonly session: ReadonlySignal<SessionState | undefined>;
}

export function Chips({at, chat, session}: ChipsProps) {
  const store = useStore();
  const models = useComputed(() => modelsOf(store.root.state.value, session.value)).value;
  const agents = useComputed(() => agentsOf(session.value)).value;
  const settings = useComputed(() => settingsOf(session.value)).value;
  const choice = wantedOf(at.chat);
  const model = useComputed(() => wantedNow(choice.value, chat.value, session.value).model?.id).value;
  const agent = useComputed(() => wantedNow(choice.value, chat.value, session.value).agent).value;
  return (
    <>
      {models.length > 1 && (
        <Chip
          icon={Cpu}
          title={words.composer.model}
          choices={[{id: undefined, label: words.composer.defaultModel}, ...models]}
          value={model}
          choose={id => void (choice.value = {...choice.peek(), model: typeof id === 'string' ? {id} : undefined})}
        />
      )}
      {agents.length > 0 && (
        <Chip
          icon={Bot}
          title={words.composer.agent}
          choices={[{id: undefined, label: words.composer.noAgent}, ...agents]}
          value={agent}
          choose={id => void (choice.value = {...choice.peek(), agent: typeof id === 'string' ? id : undefined})}
        />
      )}
      {settings.map(setting => (
        <SettingChip key={setting.key} setting={setting} set={value => void store.act(at.session, {type: 'session/configChanged', config: {[setting.key]: value}}, 'composer')} />
      ))}
    </>
  );
}

interface ChipProps {
  readonly icon: typeof Cpu;
  readonly title: string;
  readonly choices: readonly Choice[];
  readonly value: unknown;
  choose(id: unknown): void;
}

/** A choice that shows what is chosen, and opens to choose anew. */
function Chip({icon, title, choices, value, choose}: ChipProps) {
  const isOpen = useSignal(false);
  const anchor = useRef<HTMLButtonElement>(null);
  const whyNot = useWhyNot();
  const now = choices.find(each => each.id === value);
  const label = visible(now?.label ?? String(value ?? ''));
  return (
    <>
      <Button
        kind="quiet"
        class="composer-chip"
        icon={icon}
        label={words.composer.setting(visible(title), label)}
        popup="menu"
        expanded={isOpen.value}
        buttonRef={anchor}
        whyNot={whyNot}
        onClick={() => void (isOpen.value = !isOpen.value)}
      >
        <span class="composer-chip-label">{label}</span>
        <Icon of={ChevronDown} size={12} />
      </Button>
      {isOpen.value && (
        <Menu
          anchor={anchor}
          label={visible(title)}
          placement="top-start"
          onClose={() => void (isOpen.value = false)}
          items={choices.map((each, index) => ({id: String(index), words: visible(each.label), hint: each.hint && visible(each.hint), checked: each.id === value, run: () => choose(each.id)}))}
        />
      )}
    </>
  );
}

function SettingChip({setting, set}: {setting: Setting; set(value: never): void}) {
  const choices = setting.choices ?? [{id: true, label: words.composer.yes}, {id: false, label: words.composer.no}];
  return <Chip icon={SlidersHorizontal} title={setting.title} choices={choices} value={setting.value} choose={value => set(value as never)} />;
}

const short = new Intl.NumberFormat('en', {notation: 'compact', maximumFractionDigits: 1});
const whole = new Intl.NumberFormat('en');

/** How full the context is, as the last turn told it. */
export function Usage({chat, session}: Omit<ChipsProps, 'at'>) {
  const store = useStore();
  const usage = useComputed(() => usageOf(chat.value, modelsOf(store.root.state.value, session.value))).value;
  if (!usage) return null;
  const {used, most} = usage;
  const title = most ? words.composer.context(whole.format(used), whole.format(most)) : words.composer.tokens(whole.format(used));
  return (
    <span class="composer-usage" role="img" aria-label={title} title={title}>
      {most && <span class="composer-usage-bar"><span style={{width: `${Math.min(100, (100 * used) / most)}%`}} /></span>}
      {short.format(used).toLowerCase()}
    </span>
  );
}

/** Where a work can be followed: the terminal of a command, the chat of a worker. */
function placeOf(work: BackgroundWork, at: ChatRef): Route | undefined {
  if (work.kind === 'subagent') return {at: 'session', session: at.session, chat: work.chat};
  if (work.kind !== 'shell' || work.terminal === undefined) return undefined;
  const here = route.peek();
  return {...(here.at === 'session' ? here : {at: 'session', session: at.session, chat: at.chat}), panel: 'terminals', file: work.terminal, line: undefined};
}

/** What runs on beside the chat. */
export function Background({at, chat}: {at: ChatRef; chat: ReadonlySignal<ChatState | undefined>}) {
  const work = useComputed(() => chat.value?.backgroundWork).value ?? [];
  const isOpen = useSignal(false);
  const anchor = useRef<HTMLButtonElement>(null);
  if (!work.length) return null;
  return (
    <>
      <Button kind="quiet" class="composer-chip" icon={Hourglass} popup="dialog" expanded={isOpen.value} buttonRef={anchor} onClick={() => void (isOpen.value = !isOpen.value)}>
        {words.composer.inBackground(work.length)}
      </Button>
      {isOpen.value && (
        <Popover anchor={anchor} label={words.composer.background} placement="top-start" onClose={() => void (isOpen.value = false)}>
          <ul class="composer-background">
            {work.map(each => {
              const place = placeOf(each, at);
              const label = visible(each.label);
              return (
                <li key={each.id}>
                  {place ? <To route={place} onGo={() => void (isOpen.value = false)}>{label}</To> : <span>{label}</span>}
                  <span class="composer-note">{age(Date.parse(each.startedAt))}</span>
                </li>
              );
            })}
          </ul>
        </Popover>
      )}
    </>
  );
}
