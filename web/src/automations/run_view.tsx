/** One run of an automation, followed while it is shown. */
import {useState} from 'preact/hooks';
import {type Act, useFollowed, useStore} from '../store/index.ts';
import {ActButton} from '../ui/button.tsx';
import {Outcome} from '../ui/outcome.tsx';
import {visible} from '../ui/safe.tsx';
import {Skeleton} from '../ui/skeleton.tsx';
import {now} from '../ui/time.ts';
import {To} from '../ui/to.tsx';
import {words} from '../words/index.ts';
import {isActive} from './definition.ts';
import {RunGlyph} from './run_glyph.tsx';
import {runWords} from './schedule_words.ts';

export function RunView({uri}: {uri: string}) {
  const store = useStore();
  const followed = useFollowed(() => store.channel('automationRun', uri), [store, uri]);
  const [act, setAct] = useState<Act>();
  const run = followed.state.value;
  if (followed.gone.value !== undefined) return null;
  if (!run) return <Skeleton lines={2} />;
  const {lifecycle} = run;
  const titles = new Map(store.sessions.value.map(session => [session.resource, session.title]));
  return (
    <section class="automations-shown-run" aria-label={words.automations.runTitle}>
      <p class="automations-run-head">
        <RunGlyph status={lifecycle.status} />
        <strong>{(words.automations.status as Readonly<Record<string, string>>)[lifecycle.status] ?? visible(lifecycle.status)}</strong>
        <span class="automations-when">{runWords(run, now.value)}</span>
      </p>
      {lifecycle.status === 'failed' && <p class="forms-problem">{visible(lifecycle.error.message)}</p>}
      {!run.sessions.length && <p class="automations-when">{words.automations.noSessions}</p>}
      <div class="automations-buttons">
        {run.sessions.map(session => (
          <To key={session} class="ui-button automations-open" route={{at: 'session', session}}>
            {visible(titles.get(session) ?? '') || words.automations.openSession}
          </To>
        ))}
        {isActive(run) && store.host.value?.automations?.runCancellation && (
          <ActButton onClick={() => setAct(store.act(uri, {type: 'automationRun/cancelRequested'}, `cancel:${uri}`))}>{words.automations.cancelRun}</ActButton>
        )}
      </div>
      <Outcome act={act} />
    </section>
  );
}
