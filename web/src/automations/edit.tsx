/** Making or changing an automation. */
import {useEffect, useId, useState} from 'preact/hooks';
import type {AutomationEntry, StateAction} from '../ahp/index.ts';
import {AUTOMATIONS} from '../ahp/uris.ts';
import {SchemaForm} from '../forms/form.tsx';
import {sendable, withoutLookedUp} from '../forms/schema.ts';
import {go} from '../route.ts';
import {FolderField} from '../sessions/folder_field.tsx';
import {ModelField} from '../sessions/model_field.tsx';
import {useResolvedConfig} from '../sessions/resolved_config.ts';
import {type Act, useStore} from '../store/index.ts';
import {ActButton, Button} from '../ui/button.tsx';
import {newId} from '../ui/ids.ts';
import {Outcome} from '../ui/outcome.tsx';
import {visible} from '../ui/safe.tsx';
import {words} from '../words/index.ts';
import {type AutomationDraft, changesOf, definitionOf, draftOf, emptyDraft, localZone} from './definition.ts';
import {automationName} from './names.ts';
import {ScheduleFields} from './schedule_fields.tsx';

export interface AutomationFormProps {
  /** The automation to change; a new one is made without it. */
  readonly entry?: AutomationEntry | undefined;
  readonly onEnd?: (() => void) | undefined;
}

type Change = (changes: Partial<AutomationDraft>) => void;

export function AutomationForm({entry, onEnd}: AutomationFormProps) {
  const [draft, setDraft] = useState(() => (entry ? draftOf(entry.definition, localZone()) : emptyDraft(localZone())));
  const change: Change = changes => setDraft(before => ({...before, ...changes}));
  const saving = useSaving(entry, onEnd);
  const problem = !draft.title.trim() ? words.automations.needsName : !draft.message.trim() ? words.automations.needsMessage : undefined;
  const submit = (event: Event): void => {
    event.preventDefault();
    if (problem === undefined && !saving.isBusy) saving.save(draft);
  };
  const events = entry?.definition.triggers.filter(trigger => trigger.kind !== 'schedule').length ?? 0;
  const why = saving.isBusy ? words.automations.saving : problem;
  return (
    <form class="forms-form" onSubmit={submit}>
      <h1>{entry ? words.automations.editTitle : words.automations.create}</h1>
      <TextField label={words.automations.name} value={draft.title} onInput={title => change({title})} />
      <TextField label={words.automations.message} value={draft.message} onInput={message => change({message})} isLong />
      <fieldset class="automations-set">
        <legend>{words.automations.schedule}</legend>
        <ScheduleFields schedules={draft.schedules} onChange={schedules => change({schedules})} />
        {events > 0 && <p class="forms-about">{words.automations.eventTriggers(events)}</p>}
        {draft.schedules.length > 0 && <Missed draft={draft} change={change} />}
      </fieldset>
      <SessionFields draft={draft} change={change} />
      <Outcome act={saving.act} />
      <div class="automations-ends">
        <Button onClick={onEnd ?? (() => go({at: 'automations'}, {replace: true}))}>{words.shell.cancel}</Button>
        <ActButton kind="primary" submit whyNot={why}>{entry ? words.automations.save : words.automations.created}</ActButton>
      </div>
    </form>
  );
}

function TextField({label, value, onInput, isLong}: {label: string; value: string; onInput(text: string): void; isLong?: boolean}) {
  const id = useId();
  const shared = {id, class: 'forms-input', value, onInput: (event: {currentTarget: {value: string}}) => onInput(event.currentTarget.value)};
  return (
    <div class="forms-field">
      <label class="forms-label" for={id}>{label}</label>
      {isLong ? <textarea rows={4} {...shared} /> : <input {...shared} />}
    </div>
  );
}

const zones = (): readonly string[] => ['UTC', ...(Intl.supportedValuesOf?.('timeZone') ?? [])];

function Missed({draft, change}: {draft: AutomationDraft; change: Change}) {
  const id = useId();
  return (
    <>
      <div class="forms-field">
        <label class="forms-label" for={id}>{words.automations.zone}</label>
        <select id={id} class="forms-input" value={draft.zone} onChange={event => change({zone: event.currentTarget.value})}>
          {[...new Set([draft.zone, ...zones()])].map(zone => <option key={zone} value={zone}>{visible(zone)}</option>)}
        </select>
      </div>
      <label class="forms-tick">
        <input type="checkbox" checked={draft.skipMissed} onChange={event => change({skipMissed: event.currentTarget.checked})} />
        {words.automations.skipMissed}
      </label>
    </>
  );
}

/** Which agent works where, with which model and options. */
function SessionFields({draft, change}: {draft: AutomationDraft; change: Change}) {
  const id = useId();
  const agents = useStore().root.state.value?.agents ?? [];
  const agent = agents.find(one => one.provider === draft.provider) ?? agents[0];
  const resolved = useResolvedConfig({provider: draft.provider, directory: draft.directory, config: draft.config});
  const schema = resolved.answer?.schema;
  return (
    <>
      <div class="forms-field">
        <label class="forms-label" for={id}>{words.automations.agent}</label>
        <select id={id} class="forms-input" value={draft.provider ?? ''} onChange={event => change({provider: event.currentTarget.value || undefined, model: undefined, config: {}})}>
          <option value="">{words.automations.defaultAgent}</option>
          {agents.map(one => <option key={one.provider} value={one.provider}>{visible(one.displayName || one.provider)}</option>)}
        </select>
      </div>
      <FolderField directory={draft.directory} onChange={directory => change({directory, config: withoutLookedUp(schema, draft.config)})} />
      <ModelField models={agent?.models ?? []} model={draft.model} onChange={model => change({model})} />
      {schema && resolved.answer && (
        <SchemaForm
          schema={schema}
          values={{...resolved.answer.values, ...draft.config}}
          complete={resolved.complete}
          hideReadOnly
          onChange={(values, key) => change({config: {...sendable(schema, draft.config), [key]: values[key]}})}
        />
      )}
    </>
  );
}

interface Saving {
  readonly act: Act | undefined;
  readonly isBusy: boolean;
  save(draft: AutomationDraft): void;
}

/** Sends the form; once the host has taken it, the automation shows. */
function useSaving(entry: AutomationEntry | undefined, onEnd: (() => void) | undefined): Saving {
  const store = useStore();
  const [sent, setSent] = useState<{act: Act; resource: string}>();
  const phase = sent?.act.phase.value;
  useEffect(() => {
    if (phase !== 'done' || !sent) return;
    if (onEnd) onEnd();
    else go({at: 'automations', id: automationName.idOf(sent.resource)}, {replace: true});
  }, [phase]);
  const save = (draft: AutomationDraft): void => {
    const resource = entry?.resource ?? `ahp-automation:/${newId()}`;
    const action = entry
      ? {type: 'automation/updateRequested', resource, changes: changesOf(entry.definition, draft)}
      : {type: 'automation/createRequested', resource, definition: definitionOf(draft)};
    setSent({act: store.act(AUTOMATIONS, action as StateAction, `automation:${resource}`), resource});
  };
  return {act: sent?.act, isBusy: phase === 'pending', save};
}
