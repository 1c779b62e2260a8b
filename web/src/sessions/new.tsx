/** Starting a session: agent, model, folder, options, first message; all of it one draft. */
import '../forms/forms.css';
import './new.css';
import {useEffect, useId, useState} from 'preact/hooks';
import type {AgentInfo, RootState} from '../ahp/index.ts';
import {SchemaForm, problemText} from '../forms/form.tsx';
import {type Values, problemsOf, sendable, withoutLookedUp} from '../forms/schema.ts';
import {go} from '../route.ts';
import {useStore} from '../store/index.ts';
import {ActButton, Button} from '../ui/button.tsx';
import {useWhyNot} from '../ui/may_act.ts';
import {visible} from '../ui/safe.tsx';
import {Skeleton} from '../ui/skeleton.tsx';
import {words} from '../words/index.ts';
import {FolderField} from './folder_field.tsx';
import {ModelField} from './model_field.tsx';
import {change, clearDraft, clearMessage, draft} from './new_draft.ts';
import {reasonOf} from './refusal.ts';
import {type ResolvedConfig, useResolvedConfig} from './resolved_config.ts';
import {type Started, start} from './start.ts';
import {tellOutcome} from './tell_outcome.ts';

export function NewSessionPage() {
  const store = useStore();
  const root = store.root.state.value;
  return (
    <div class="forms-room">
      <div class="sessions-new-page">
        <h1>{words.sessions.new.title}</h1>
        {root ? <NewForm root={root} /> : <Skeleton lines={6} />}
      </div>
    </div>
  );
}

function NewForm({root}: {root: RootState}) {
  const form = draft.value;
  const agent = root.agents.find(one => one.provider === form.provider) ?? root.agents[0];
  const resolved = useResolvedConfig({provider: agent?.provider, directory: form.directory, config: form.config});
  const starting = useStarting();
  const id = useId();
  if (!agent) return <p>{words.sessions.new.noAgents}</p>;
  // Of a model that the agent has no more nothing is sent.
  const model = agent.models.some(one => one.id === form.model?.id) ? form.model : undefined;
  const begin = (): void => starting.begin({...form, provider: agent.provider, model, config: configOf(resolved, form.config)});
  const problem = problemIn(resolved, form.config);
  const submit = (event: Event): void => {
    event.preventDefault();
    if (!starting.isBusy && problem === undefined) begin();
  };
  return (
    <form class="forms-form" onSubmit={submit}>
      <AgentField agents={root.agents} agent={agent} />
      <FolderField directory={form.directory} onChange={directory => change({directory, config: withoutLookedUp(resolved.answer?.schema, form.config)})} />
      <ModelField models={agent.models} model={model} onChange={chosen => change({model: chosen})} />
      <Options resolved={resolved} config={form.config} />
      <div class="forms-field">
        <label class="forms-label" for={id}>{words.sessions.new.message}</label>
        <textarea
          id={id}
          class="forms-input sessions-new-message"
          rows={5}
          placeholder={words.sessions.new.messageHint}
          value={form.message}
          onInput={event => change({message: event.currentTarget.value})}
          onKeyDown={event => event.key === 'Enter' && (event.ctrlKey || event.metaKey) && submit(event)}
        />
        <p class="forms-about">{words.sessions.new.kept}</p>
      </div>
      {starting.problem !== undefined && <p class="forms-problem" role="alert">{starting.problem}</p>}
      <div class="sessions-new-buttons">
        <Button onClick={clearDraft}>{words.sessions.new.clear}</Button>
        <ActButton kind="primary" submit whyNot={starting.isBusy ? words.sessions.new.starting : problem}>
          {starting.isBusy ? words.sessions.new.starting : form.message.trim() ? words.sessions.new.start : words.sessions.new.startEmpty}
        </ActButton>
      </div>
    </form>
  );
}

function AgentField({agents, agent}: {agents: readonly AgentInfo[]; agent: AgentInfo}) {
  const id = useId();
  const choose = (provider: string): void => change({provider, model: undefined, config: {}});
  return (
    <div class="forms-field">
      <label class="forms-label" for={id}>{words.sessions.new.agent}</label>
      <select id={id} class="forms-input" value={agent.provider} onChange={event => choose(event.currentTarget.value)}>
        {agents.map(one => <option key={one.provider} value={one.provider}>{visible(one.displayName || one.provider)}</option>)}
      </select>
      {agent.description && <p class="forms-about">{visible(agent.description)}</p>}
    </div>
  );
}

function Options({resolved, config}: {resolved: ResolvedConfig; config: Values}) {
  const whyNot = useWhyNot();
  if (resolved.refused !== undefined) return <p class="forms-problem">{words.sessions.new.notResolved(resolved.refused)}</p>;
  if (!resolved.answer) return <p class="forms-about">{words.sessions.new.resolving}</p>;
  const {schema, values} = resolved.answer;
  if (!Object.values(schema.properties).some(property => !property.readOnly)) return null;
  const set = (given: Values, key: string): void => change({config: {...sendable(schema, config), [key]: given[key]}});
  return (
    <fieldset class="sessions-new-options">
      <legend>{words.sessions.new.options}</legend>
      <SchemaForm schema={schema} values={{...values, ...config}} onChange={set} complete={resolved.complete} hideReadOnly whyNot={whyNot} />
    </fieldset>
  );
}

const configOf = (resolved: ResolvedConfig, config: Values): Values => (resolved.answer ? sendable(resolved.answer.schema, config) : config);

function problemIn(resolved: ResolvedConfig, config: Values): string | undefined {
  if (!resolved.answer) return undefined;
  const {schema, values} = resolved.answer;
  const [first] = problemsOf(schema, {...values, ...config});
  return first && `${visible(schema.properties[first[0]]?.title ?? first[0])}: ${problemText(first[1])}`;
}

interface Starting {
  readonly isBusy: boolean;
  readonly problem: string | undefined;
  begin(given: Parameters<typeof start>[1]): void;
}

function useStarting(): Starting {
  const store = useStore();
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const [started, setStarted] = useState<Started>();
  useEffect(() => {
    if (!started) return;
    // The text stays in the form until the host has it.
    if (started.sent) tellOutcome(started.sent, clearMessage);
    go({at: 'session', session: started.session}, {replace: true});
  }, [started]);
  const begin = (given: Parameters<typeof start>[1]): void => {
    setBusy(true);
    setProblem(undefined);
    start(store, given)
      .then(setStarted, error => setProblem(words.sessions.new.failed(reasonOf(error))))
      .finally(() => setBusy(false));
  };
  return {isBusy, problem, begin};
}
