/** Whether the servers of a folder may start: what was decided, and for owners the decision. */
import {ShieldAlert, ShieldCheck} from 'lucide';
import {useState} from 'preact/hooks';
import {ExactText} from '../cards/exact_text.tsx';
import {useStore} from '../store/index.ts';
import {ActButton, Button} from '../ui/button.tsx';
import {Icon} from '../ui/icon.tsx';
import {Sheet} from '../ui/sheet.tsx';
import {toast} from '../ui/toast.tsx';
import {words} from '../words/index.ts';
import {failureText} from '../workspace/failure.ts';
import {pathOf} from '../workspace/files/paths.ts';
import type {ServerEntry, Trust} from './model.ts';
import {short} from './short.ts';

export interface FolderTrustProps {
  readonly uri: string;
  readonly folder: string;
  readonly servers: readonly ServerEntry[];
}

/** Servers that are named in a line. */
const FEW = 5;

// What says most of a folder: that one of its servers may not start comes before that others may.
const ORDER: readonly Trust['state'][] = ['asked', 'untrusted', 'refused', 'session', 'trusted'];

export function FolderTrust({uri, folder, servers}: FolderTrustProps) {
  const store = useStore();
  const [isAsking, setAsking] = useState(false);
  const [failure, setFailure] = useState<string>();
  const said = words.tools.trust;
  const role = store.me.value?.role;
  const isOwner = role === 'owner';
  const state = ORDER.find(each => servers.some(({trust}) => trust?.state === each)) ?? 'untrusted';
  const path = short(pathOf(folder), 200);
  const untrusted = servers.filter(({trust}) => trust?.state !== 'trusted');
  const isFine = state === 'trusted' || state === 'session';
  const ask = async (run: () => Promise<unknown>, done: string): Promise<void> => {
    setFailure(undefined);
    try {
      await run();
      toast(done);
    } catch (error) {
      setFailure(short(failureText(error, {changes: true}), 500));
    }
  };
  const trust = (): void => {
    setAsking(false);
    const ids = untrusted.map(({server}) => server.id);
    // What is shown is what is trusted: somebody may write it anew in this very moment.
    const digests = untrusted.flatMap(({trust}) => trust?.digest ?? []);
    void ask(() => store.ask('agenthost/trustFolder', {channel: uri, ids, ...(digests.length === ids.length ? {digests} : {})}), said.done);
  };
  return (
    <div class={isFine ? 'tools-trust' : 'tools-trust needs'}>
      <Icon of={isFine ? ShieldCheck : ShieldAlert} />
      <p>
        {said[state](path, names(servers.filter(({trust}) => trust?.state === state)))}
        {!isOwner && state === 'untrusted' && <> {said.askOwner}{role === 'operator' && ` ${said.askedInTurn}`}</>}
      </p>
      {isOwner && (
        <span class="tools-actions">
          {untrusted.length > 0 && <ActButton onClick={() => setAsking(true)}>{said.trust}</ActButton>}
          {(state === 'trusted' || state === 'refused') && (
            <ActButton kind="quiet" label={said.forgetOf(path)} onClick={() => void ask(() => store.ask('agenthost/forgetTrust', {folder}), said.forgotten)}>{said.forget}</ActButton>
          )}
        </span>
      )}
      {failure !== undefined && <p class="ui-outcome" role="alert">{failure}</p>}
      {isAsking && <TrustSheet path={path} servers={untrusted} trust={trust} close={() => setAsking(false)} />}
    </div>
  );
}

/** The names of a few, and how many more there are. */
function names(servers: readonly ServerEntry[]): string {
  const few = servers.slice(0, FEW).map(({server}) => short(server.name, 40));
  return [...few, ...(servers.length > FEW ? [words.tools.trust.more(servers.length - FEW)] : [])].join(', ');
}

/** The question, with everything that would run. */
function TrustSheet({path, servers, trust, close}: {path: string; servers: readonly ServerEntry[]; trust(): void; close(): void}) {
  const said = words.tools.trust;
  return (
    <Sheet
      title={said.title(path)}
      onClose={close}
      actions={
        <>
          <Button onClick={close}>{words.shell.cancel}</Button>
          <ActButton kind="danger" onClick={trust}>{said.yes}</ActButton>
        </>
      }
    >
      <div class="tools-trust-list">
        <p>{said.means(servers.length)}</p>
        {servers.map(({server, runs}) => (
          <section key={server.id}>
            <h3>{short(server.name)}</h3>
            {runs === undefined ? <p class="tools-problem">{said.unknownCommand}</p> : <ExactText text={runs} label={words.tools.runs} />}
          </section>
        ))}
      </div>
    </Sheet>
  );
}
