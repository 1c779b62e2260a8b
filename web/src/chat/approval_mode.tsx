/** What the agent may do without asking: shown in the head of a chat, and changed there at any time. */
import {useSignal} from '@preact/signals';
import {ChevronDown, type IconNode, Shield, ShieldCheck, ShieldOff} from 'lucide';
import {useRef} from 'preact/hooks';
import type {SessionConfigPropertySchema, SessionState, StateAction} from '../ahp/index.ts';
import {APPROVALS} from '../composer/choices.ts';
import {tellOutcome} from '../sessions/tell_outcome.ts';
import {useStore} from '../store/index.ts';
import {Button} from '../ui/button.tsx';
import {Icon} from '../ui/icon.tsx';
import {useWhyNot} from '../ui/may_act.ts';
import {Menu} from '../ui/popover.tsx';
import {visible} from '../ui/safe.tsx';
import {words} from '../words/index.ts';

/** Characters of a label of the host's. */
const MOST = 60;

const ICONS: Readonly<Record<string, IconNode>> = {default: ShieldCheck, edits: Shield, autoApprove: ShieldOff};
const iconOf = (mode: unknown): IconNode => (typeof mode === 'string' && Object.hasOwn(ICONS, mode) ? ICONS[mode] : undefined) ?? Shield;

interface Mode {
  readonly id: unknown;
  readonly label: string;
  readonly hint: string | undefined;
}

/** The modes that a host offers, in its words; where it has none, in ours. */
function modesOf({enum: ids, enumLabels, enumDescriptions}: SessionConfigPropertySchema): readonly Mode[] {
  return (ids ?? []).map((id, index) => {
    const own = known(id);
    return {id, label: visible((enumLabels?.[index] ?? own?.[0] ?? String(id)).slice(0, MOST)), hint: visible((enumDescriptions?.[index] ?? own?.[1] ?? '').slice(0, 4 * MOST))};
  });
}

const known = (id: unknown): readonly [string, string] | undefined => {
  const {modes} = words.chat;
  return typeof id === 'string' && Object.hasOwn(modes, id) ? modes[id as keyof typeof modes] : undefined;
};

export function ApprovalMode({session, state}: {session: string; state: SessionState | undefined}) {
  const {schema, values} = state?.config ?? {};
  const property = schema && Object.hasOwn(schema.properties, APPROVALS) ? schema.properties[APPROVALS] : undefined;
  const value = values && Object.hasOwn(values, APPROVALS) ? values[APPROVALS] : property?.default;
  // A host without such a setting asks as it likes.
  if (value === undefined) return null;
  return <ModeChip session={session} value={value} modes={property ? modesOf(property) : []} isFixed={!property?.sessionMutable || property.readOnly === true} />;
}

function ModeChip({session, value, modes, isFixed}: {session: string; value: unknown; modes: readonly Mode[]; isFixed: boolean}) {
  const store = useStore();
  const isOpen = useSignal(false);
  const anchor = useRef<HTMLButtonElement>(null);
  const whyNot = useWhyNot();
  const now = modes.find(mode => mode.id === value);
  const label = now?.label ?? visible((known(value)?.[0] ?? String(value)).slice(0, MOST));
  const choose = (id: unknown): void => {
    if (id !== value) tellOutcome(store.act(session, {type: 'session/configChanged', config: {[APPROVALS]: id}} as StateAction, 'approvals'));
  };
  return (
    <>
      <Button
        kind="quiet"
        class={value === 'autoApprove' ? 'chat-mode everything' : value === 'default' ? 'chat-mode usual' : 'chat-mode'}
        icon={iconOf(value)}
        label={words.chat.approvals(label)}
        popup="menu"
        expanded={isOpen.value}
        buttonRef={anchor}
        whyNot={isFixed || modes.length < 2 ? words.chat.approvalsFixed : whyNot}
        onClick={() => void (isOpen.value = !isOpen.value)}
      >
        <span>{label}</span>
        <Icon of={ChevronDown} size={12} />
      </Button>
      {isOpen.value && (
        <Menu
          anchor={anchor}
          label={words.chat.approvalsTitle}
          placement="bottom-end"
          onClose={() => void (isOpen.value = false)}
          items={modes.map((mode, index) => ({id: String(index), words: mode.label, hint: mode.hint, checked: mode.id === value, run: () => choose(mode.id)}))}
        />
      )}
    </>
  );
}
