/** The page of the automations: all of them, or one. */
import './automations.css';
import '../forms/forms.css';
import {Play, Plus} from 'lucide';
import type {AutomationEntry} from '../ahp/index.ts';
import {AUTOMATIONS} from '../ahp/uris.ts';
import {go, route} from '../route.ts';
import {useFollowed, useStore} from '../store/index.ts';
import {ActButton} from '../ui/button.tsx';
import {ErrorBoundary} from '../ui/error_boundary.tsx';
import {visible} from '../ui/safe.tsx';
import {Skeleton} from '../ui/skeleton.tsx';
import {now} from '../ui/time.ts';
import {To} from '../ui/to.tsx';
import {words} from '../words/index.ts';
import {AutomationDetail} from './detail.tsx';
import {AutomationForm} from './edit.tsx';
import {Enabled} from './enabled.tsx';
import {automationName, NEW} from './names.ts';
import {RunGlyph} from './run_glyph.tsx';
import {nextWords, triggerWords} from './schedule_words.ts';
import {useRunNow} from './use_run_now.ts';

export function AutomationsPage() {
  return <div class="forms-room"><div class="automations-page"><Place /></div></div>;
}

/** The list, one automation or the form, by the address. */
function Place() {
  const store = useStore();
  const followed = useFollowed(() => store.channel('automation', AUTOMATIONS), [store]);
  const at = route.value;
  const id = at.at === 'automations' ? at.id : undefined;
  const entries = followed.state.value?.entries;
  const host = store.host.value;
  if ((host && !host.automations) || followed.gone.value !== undefined) return <p>{words.automations.noneHere}</p>;
  if (id === NEW) return <AutomationForm />;
  if (!entries) return <Skeleton lines={6} />;
  const uri = id === undefined ? undefined : automationName.uriOf(id);
  if (uri === undefined) return <AutomationList entries={entries} mayCreate={host?.automations?.create !== undefined} />;
  const entry = entries.find(one => one.resource === uri);
  if (!entry) {
    return (
      <>
        <h1>{words.automations.title}</h1>
        <p>{words.automations.gone}</p>
        <To route={{at: 'automations'}}>{words.automations.all}</To>
      </>
    );
  }
  return <AutomationDetail key={uri} entry={entry} run={at.at === 'automations' ? at.run : undefined} />;
}

function AutomationList({entries, mayCreate}: {entries: readonly AutomationEntry[]; mayCreate: boolean}) {
  const sorted = entries.toSorted((a, b) => a.definition.title.localeCompare(b.definition.title));
  return (
    <>
      <header class="automations-head">
        <h1>{words.automations.title}</h1>
        {mayCreate && <ActButton icon={Plus} kind="primary" onClick={() => go({at: 'automations', id: NEW})}>{words.automations.create}</ActButton>}
      </header>
      <p class="automations-about">{words.automations.about}</p>
      {!sorted.length && <p>{words.automations.none}</p>}
      <ul class="automations-list">
        {sorted.map(entry => <ErrorBoundary key={entry.resource} of={entry}><AutomationRow entry={entry} /></ErrorBoundary>)}
      </ul>
    </>
  );
}

// Runs whose outcome a row shows.
const LAST_RUNS = 5;

function AutomationRow({entry}: {entry: AutomationEntry}) {
  const title = visible(entry.definition.title) || words.sessions.untitled;
  const running = useRunNow(entry.resource);
  return (
    <li class="automations-row">
      <To class="automations-link" route={{at: 'automations', id: automationName.idOf(entry.resource)}}>
        <span class="automations-title">{title}</span>
        <span class="automations-when">{triggerWords(entry.definition).join('; ')}</span>
        <span class="automations-when">{nextWords(entry, now.value)}</span>
      </To>
      <span class="automations-last">
        {entry.runs.slice(0, LAST_RUNS).map(run => <RunGlyph key={run.resource} status={run.lifecycle.status} />)}
      </span>
      <Enabled entry={entry} title={title} isBare />
      {entry.operations.includes('run') && (
        <ActButton icon={Play} label={words.automations.runOf(title)} onClick={running.run} whyNot={running.isBusy ? words.automations.running : undefined}>
          {running.isBusy ? words.automations.running : words.automations.run}
        </ActButton>
      )}
      {running.problem !== undefined && <p class="forms-problem" role="alert">{running.problem}</p>}
    </li>
  );
}
