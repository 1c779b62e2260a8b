/** Settings of the host itself, by the schema that it gives. */
import {useState} from 'preact/hooks';
import type {StateAction} from '../ahp/index.ts';
import {ROOT} from '../ahp/uris.ts';
import {pathOf} from '../browse/paths.ts';
import {SchemaForm} from '../forms/form.tsx';
import {type Values, problemsOf, sendable} from '../forms/schema.ts';
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
      {config && Object.keys(config.schema.properties).length ? <HostForm schema={config.schema} values={config.values} /> : <p>{words.settings.host.none}</p>}
    </div>
  );
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

function HostForm({schema, values}: {schema: Parameters<typeof SchemaForm>[0]['schema']; values: Values}) {
  const store = useStore();
  const whyNot = useWhyNot();
  // Only what was changed here, so that others' changes of the rest show.
  const [edits, setEdits] = useState<Values>({});
  const [act, setAct] = useState<Act>();
  const isDirty = Object.keys(edits).length > 0;
  const phase = act?.phase.value;
  const save = (event: Event): void => {
    event.preventDefault();
    if (!isDirty || problemsOf(schema, {...values, ...edits}).size) return;
    // An emptied text is a value too: the host's default would come back else.
    const emptied = Object.fromEntries(Object.entries(edits).filter(([, value]) => value === ''));
    setAct(store.act(ROOT, {type: 'root/configChanged', config: {...emptied, ...sendable(schema, edits)}} as StateAction, 'host-settings'));
    setEdits({});
  };
  return (
    <form class="forms-form" onSubmit={save}>
      <SchemaForm schema={schema} values={{...values, ...edits}} whyNot={whyNot} onChange={(all, key) => setEdits({...edits, [key]: all[key]})} />
      <div class="settings-buttons">
        <Button onClick={() => setEdits({})} whyNot={isDirty ? undefined : ''}>{words.settings.host.revert}</Button>
        <ActButton kind="primary" submit whyNot={isDirty ? undefined : ''}>{words.settings.host.save}</ActButton>
      </div>
      {phase === 'done' && !isDirty && <p role="status">{words.settings.host.saved}</p>}
      <Outcome act={act} />
    </form>
  );
}
