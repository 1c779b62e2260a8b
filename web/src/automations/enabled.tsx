/** The switch that lets an automation run by itself. */
import {useState} from 'preact/hooks';
import type {AutomationEntry, StateAction} from '../ahp/index.ts';
import {AUTOMATIONS} from '../ahp/uris.ts';
import {type Act, useStore} from '../store/index.ts';
import {useWhyNot} from '../ui/may_act.ts';
import {Outcome} from '../ui/outcome.tsx';
import {words} from '../words/index.ts';

export interface EnabledProps {
  readonly entry: AutomationEntry;
  readonly title: string;
  /** Whether the switch stands without its word. */
  readonly isBare?: boolean | undefined;
}

export function Enabled({entry, title, isBare}: EnabledProps) {
  const store = useStore();
  const whyNot = useWhyNot();
  const [act, setAct] = useState<{act: Act; wanted: boolean; before: AutomationEntry['definition']}>();
  const phase = act?.act.phase.value;
  // The host's word comes in two steps: that it took the request, then what the automation is now.
  const isUnderWay = phase === 'pending' || (phase === 'done' && act?.before === entry.definition);
  const toggle = (enabled: boolean): void => {
    const action = {type: 'automation/updateRequested', resource: entry.resource, changes: {enabled}} as StateAction;
    setAct({act: store.act(AUTOMATIONS, action, `enabled:${entry.resource}`), wanted: enabled, before: entry.definition});
  };
  // What nothing triggers has nothing to switch.
  if (!entry.definition.triggers.length) return null;
  const isFixed = whyNot !== undefined || !entry.operations.includes('update');
  return (
    <span class="automations-enabled">
      <label class="forms-tick" title={whyNot}>
        <input
          class="forms-switch"
          type="checkbox"
          role="switch"
          aria-label={words.automations.enabledOf(title)}
          checked={act && isUnderWay ? act.wanted : entry.definition.enabled}
          disabled={isFixed}
          onChange={event => toggle(event.currentTarget.checked)}
        />
        {!isBare && words.automations.enabled}
      </label>
      <Outcome act={act?.act} />
    </span>
  );
}
