/** One automation: what it does, when it runs, and how its runs went. */
import {ChevronLeft, Pencil, Play, Trash2} from 'lucide';
import {useState} from 'preact/hooks';
import type {AutomationEntry, AutomationRunSummary} from '../ahp/index.ts';
import {AUTOMATIONS} from '../ahp/uris.ts';
import {pathOf} from '../browse/paths.ts';
import {go} from '../route.ts';
import {refusal} from '../sessions/refusal.ts';
import {tellOutcome} from '../sessions/tell_outcome.ts';
import {useStore} from '../store/index.ts';
import {ActButton, Button} from '../ui/button.tsx';
import {Icon} from '../ui/icon.tsx';
import {visible} from '../ui/safe.tsx';
import {Sheet} from '../ui/sheet.tsx';
import {now} from '../ui/time.ts';
import {To} from '../ui/to.tsx';
import {toast} from '../ui/toast.tsx';
import {words} from '../words/index.ts';
import {AutomationForm} from './edit.tsx';
import {Enabled} from './enabled.tsx';
import {automationName, runName} from './names.ts';
import {RunGlyph} from './run_glyph.tsx';
import {RunView} from './run_view.tsx';
import {nextWords, runWords, triggerWords} from './schedule_words.ts';
import {useRunNow} from './use_run_now.ts';

export function AutomationDetail({entry, run}: {entry: AutomationEntry; run: string | undefined}) {
  const [isEditing, setEditing] = useState(false);
  if (isEditing) return <AutomationForm entry={entry} onEnd={() => setEditing(false)} />;
  return (
    <>
      <Head entry={entry} onEdit={() => setEditing(true)} />
      <About entry={entry} />
      {run !== undefined && <RunView key={run} uri={runName.uriOf(run) ?? ''} />}
      <Runs entry={entry} />
    </>
  );
}

function Head({entry, onEdit}: {entry: AutomationEntry; onEdit(): void}) {
  const title = visible(entry.definition.title) || words.sessions.untitled;
  const running = useRunNow(entry.resource);
  const may = (operation: AutomationEntry['operations'][number]): boolean => entry.operations.includes(operation);
  return (
    <>
      <To class="automations-back" route={{at: 'automations'}}><Icon of={ChevronLeft} />{words.automations.title}</To>
      <header class="automations-head">
        <h1>{title}</h1>
        <Enabled entry={entry} title={title} />
      </header>
      <div class="automations-buttons">
        {may('run') && (
          <ActButton kind="primary" icon={Play} onClick={running.run} whyNot={running.isBusy ? words.automations.running : undefined}>
            {running.isBusy ? words.automations.running : words.automations.run}
          </ActButton>
        )}
        {may('update') && <ActButton icon={Pencil} onClick={onEdit}>{words.automations.edit}</ActButton>}
        {may('remove') && <Remove entry={entry} />}
      </div>
      {running.problem !== undefined && <p class="forms-problem" role="alert">{running.problem}</p>}
    </>
  );
}

function Remove({entry}: {entry: AutomationEntry}) {
  const store = useStore();
  const [isAsking, setAsking] = useState(false);
  const remove = (): void => {
    setAsking(false);
    tellOutcome(store.act(AUTOMATIONS, {type: 'automation/removed', resource: entry.resource}, `remove:${entry.resource}`));
    go({at: 'automations'}, {replace: true});
  };
  return (
    <>
      <ActButton icon={Trash2} onClick={() => setAsking(true)}>{words.automations.remove}</ActButton>
      {isAsking && (
        <Sheet
          title={words.automations.removeTitle}
          onClose={() => setAsking(false)}
          actions={
            <>
              <Button onClick={() => setAsking(false)}>{words.shell.cancel}</Button>
              <ActButton kind="danger" onClick={remove}>{words.automations.remove}</ActButton>
            </>
          }
        >
          <p>{words.automations.removeText}</p>
        </Sheet>
      )}
    </>
  );
}

function About({entry}: {entry: AutomationEntry}) {
  const {definition} = entry;
  const folders = definition.session.workingDirectories ?? [];
  const {provider, model} = definition.session;
  const agent = useStore().root.state.value?.agents.find(one => one.provider === provider);
  return (
    <dl class="ui-facts">
      <dt>{words.automations.schedule}</dt>
      <dd>
        {triggerWords(definition).map(text => <p key={text}>{text}</p>)}
        <p class="automations-next">{nextWords(entry, now.value)}</p>
      </dd>
      <dt>{words.automations.message}</dt>
      <dd class="automations-message">{visible(definition.message.text)}</dd>
      <dt>{words.automations.agent}</dt>
      <dd>{visible([agent?.displayName ?? provider ?? words.automations.defaultAgent, model?.id].filter(Boolean).join(', '))}</dd>
      {folders.length > 0 && (
        <>
          <dt>{words.automations.folder}</dt>
          <dd>{folders.map(uri => <p key={uri}>{visible(pathOf(uri))}</p>)}</dd>
        </>
      )}
    </dl>
  );
}

function Runs({entry}: {entry: AutomationEntry}) {
  const store = useStore();
  const [isLoading, setLoading] = useState(false);
  const more = (): void => {
    setLoading(true);
    const cursor = entry.runsNextCursor === undefined ? {} : {cursor: entry.runsNextCursor};
    store
      .ask('fetchAutomationRuns', {channel: AUTOMATIONS, automation: entry.resource, ...cursor})
      .catch(error => toast(refusal(error)))
      .finally(() => setLoading(false));
  };
  return (
    <section class="automations-runs" aria-label={words.automations.runs}>
      <h2>{words.automations.runs}</h2>
      {!entry.runs.length && <p>{words.automations.noRuns}</p>}
      <ul class="automations-list">
        {entry.runs.map(run => <RunRow key={run.resource} automation={entry.resource} run={run} />)}
      </ul>
      {entry.runsNextCursor !== undefined && (
        <Button onClick={more} whyNot={isLoading ? words.shell.loading : undefined}>{words.automations.moreRuns}</Button>
      )}
    </section>
  );
}

function RunRow({automation, run}: {automation: string; run: AutomationRunSummary}) {
  const {lifecycle} = run;
  const status = (words.automations.status as Readonly<Record<string, string>>)[lifecycle.status] ?? visible(lifecycle.status);
  return (
    <li class="automations-run">
      <RunGlyph status={lifecycle.status} />
      <To class="automations-link" route={{at: 'automations', id: automationName.idOf(automation), run: runName.idOf(run.resource)}}>
        <span>{status}</span>
        <span class="automations-when">{runWords(run, now.value)}</span>
        {lifecycle.status === 'failed' && <span class="forms-problem">{visible(lifecycle.error.message)}</span>}
      </To>
      {run.primarySession !== undefined && (
        <To class="ui-button automations-open" route={{at: 'session', session: run.primarySession}}>{words.automations.openSession}</To>
      )}
    </li>
  );
}
