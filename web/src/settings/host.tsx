/** Settings of the host itself, by the schema that it gives. */
import {useState} from 'preact/hooks';
import type {RootState, StateAction} from '../ahp/index.ts';
import {ROOT} from '../ahp/uris.ts';
import {pathOf} from '../browse/paths.ts';
import {SchemaForm, problemText} from '../forms/form.tsx';
import {type SettingsSchema, type Values, problemsOf, sendable} from '../forms/schema.ts';
import {type Act, useStore} from '../store/index.ts';
import {ActButton, Button} from '../ui/button.tsx';
import {useWhyNot} from '../ui/may_act.ts';
import {Outcome} from '../ui/outcome.tsx';
import {visible} from '../ui/safe.tsx';
import {Skeleton} from '../ui/skeleton.tsx';
import {words} from '../words/index.ts';

export function HostSettings() {
  const root = useStore().root.state.value;
  if (!root) return <Skeleton lines={4} />;
  const config = root.config;
  return (
    <div class="forms-form">
      <Facts />
      {config && Object.keys(config.schema.properties).length ? <HostForm schema={withChoices(config.schema, root)} values={config.values} /> : <p>{words.settings.host.none}</p>}
    </div>
  );
}

/** The settings that name an agent or a model, and what each can name now: agents come and go, their schema stays. */
const NAMED: Readonly<Record<string, (root: RootState) => readonly (readonly [id: string, label: string])[]>> = {
  defaultAgent: root => root.agents.map(agent => [agent.provider, agent.displayName]),
  defaultModel: root => root.agents.flatMap(agent => agent.models.map(model => [model.id, `${model.name || model.id} (${agent.displayName})`] as const)),
};

function withChoices(schema: SettingsSchema, root: RootState): SettingsSchema {
  const properties = Object.entries(schema.properties).map(([key, property]) => {
    const named = Object.hasOwn(NAMED, key) && property.type === 'string' && !property.enum ? NAMED[key]?.(root) : undefined;
    return [key, named ? {...property, enumDynamic: true, enum: named.map(([id]) => id), enumLabels: named.map(([, label]) => label)} : property];
  });
  return {...schema, properties: Object.fromEntries(properties)};
}

function Facts() {
  const host = useStore().host.value;
  if (!host) return null;
  const {serverInfo, defaultDirectory} = host;
  return (
    <dl class="ui-facts">
      {serverInfo && (
        <>
          <dt>{words.settings.host.name}</dt>
          <dd>{visible([serverInfo.title ?? serverInfo.name, serverInfo.version].filter(Boolean).join(' '))}</dd>
        </>
      )}
      {defaultDirectory !== undefined && (
        <>
          <dt>{words.settings.host.folder}</dt>
          <dd>{visible(pathOf(defaultDirectory))}</dd>
        </>
      )}
    </dl>
  );
}

/** What is told to the host: it merges, so what was taken out is told as its default. An emptied text is a value too. */
function sent(schema: SettingsSchema, edits: Values): Values {
  const emptied = Object.entries(edits).flatMap(([key, value]) => {
    const fallback = Object.hasOwn(schema.properties, key) ? schema.properties[key]?.default : undefined;
    return value === '' ? [[key, '']] : value === undefined && fallback !== undefined ? [[key, fallback]] : [];
  });
  return {...Object.fromEntries(emptied), ...sendable(schema, edits)};
}

function HostForm({schema, values}: {schema: SettingsSchema; values: Values}) {
  const store = useStore();
  const cannot = useWhyNot();
  const whyNot = cannot ?? (store.me.value?.role === 'owner' ? undefined : words.settings.host.ownersOnly);
  // Only what was changed here, so that others' changes of the rest show.
  const [edits, setEdits] = useState<Values>({});
  const [act, setAct] = useState<Act>();
  const [wrong, setWrong] = useState<readonly string[]>([]);
  const isDirty = Object.keys(edits).length > 0;
  const phase = act?.phase.value;
  const save = (event: Event): void => {
    event.preventDefault();
    if (!isDirty || whyNot !== undefined) return;
    // What was wrong before is not this person's doing, and hinders nothing.
    const wrong = [...problemsOf(schema, {...values, ...edits})].filter(([key]) => Object.hasOwn(edits, key));
    setWrong(wrong.map(([key, problem]) => `${visible(schema.properties[key]?.title ?? key)}: ${problemText(problem)}`));
    if (wrong.length) return;
    const config = sent(schema, edits);
    if (Object.keys(config).length) setAct(store.act(ROOT, {type: 'root/configChanged', config} as StateAction, 'host-settings'));
    setEdits({});
  };
  return (
    <form class="forms-form" onSubmit={save}>
      <SchemaForm schema={schema} values={{...values, ...edits}} whyNot={whyNot} onChange={(all, key) => setEdits({...edits, [key]: all[key]})} />
      <div class="settings-buttons">
        <Button onClick={() => setEdits({})} whyNot={isDirty ? undefined : ''}>{words.settings.host.revert}</Button>
        <ActButton kind="primary" submit whyNot={whyNot ?? (isDirty ? undefined : '')}>{words.settings.host.save}</ActButton>
      </div>
      {whyNot !== undefined && <p class="forms-about">{whyNot}</p>}
      {wrong.length > 0 && <p class="forms-problem" role="alert">{wrong.join(' ')}</p>}
      {phase === 'done' && !isDirty && <p role="status">{words.settings.host.saved}</p>}
      <Outcome act={act} />
    </form>
  );
}
