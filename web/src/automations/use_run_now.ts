/** Running an automation by hand. */
import {useState} from 'preact/hooks';
import {AUTOMATIONS} from '../ahp/uris.ts';
import {go} from '../route.ts';
import {refusal} from '../sessions/refusal.ts';
import {useStore} from '../store/index.ts';
import {newId} from '../ui/ids.ts';
import {automationName, runName} from './names.ts';

export interface RunNow {
  readonly isBusy: boolean;
  readonly problem: string | undefined;
  run(): void;
}

/** Starts a run and goes to it. */
export function useRunNow(automation: string): RunNow {
  const store = useStore();
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const run = (): void => {
    setBusy(true);
    setProblem(undefined);
    store
      .ask('runAutomation', {channel: AUTOMATIONS, automation, requestId: newId()})
      .then(
        ({resource}) => go({at: 'automations', id: automationName.idOf(automation), run: runName.idOf(resource)}),
        error => setProblem(refusal(error)),
      )
      .finally(() => setBusy(false));
  };
  return {isBusy, problem, run};
}
