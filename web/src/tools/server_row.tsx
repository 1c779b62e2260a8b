/** One MCP server: how it is, what it runs, and what can be done about it. */
import {Circle, CircleCheck, CircleOff, Diamond, type IconNode, LoaderCircle, OctagonX, Play, RotateCw, ScrollText, Square, StepForward} from 'lucide';
import type {ComponentChildren} from 'preact';
import {useState} from 'preact/hooks';
import type {McpServerState, SessionState} from '../ahp/index.ts';
import {SignIn, WhySignIn} from '../cards/sign_in.tsx';
import {go, route, type SessionRoute} from '../route.ts';
import {type Act, useStore} from '../store/index.ts';
import {ActButton, Button} from '../ui/button.tsx';
import {Icon} from '../ui/icon.tsx';
import {Outcome} from '../ui/outcome.tsx';
import {words} from '../words/index.ts';
import {failureText} from '../workspace/failure.ts';
import {isOn} from './entries.ts';
import {type ServerEntry, lineOf, offBy, requested, requestsOf} from './model.ts';
import {short} from './short.ts';
import {SourceLink} from './source_link.tsx';
import {UseSwitch} from './use_switch.tsx';

export interface ServerRowProps {
  readonly uri: string;
  readonly session: SessionState;
  readonly entry: ServerEntry;
}

/** Characters of what a server says of its failure, and of its command line. */
const MOST_SAID = 1000;

export function ServerRow({uri, session, entry}: ServerRowProps) {
  const [act, setAct] = useState<Act>();
  const {server, container, problem, runs} = entry;
  const name = short(server.name);
  const {state} = server;
  const isUsed = offBy(server, container) === undefined;
  const said = problem ?? (state?.kind === 'error' ? state.error?.message : undefined);
  const [icon, tone] = glyphOf(entry);
  return (
    <li class="tools-server" data-entry={server.id}>
      <div class="tools-head">
        <Icon of={icon} class={`tools-glyph ${tone}`} />
        <div class="tools-names">
          <h3>{name}</h3>
          <p class="tools-about" role="status">{stateText(entry)}</p>
        </div>
        <UseSwitch uri={uri} session={session} entry={server} onAct={setAct} />
      </div>
      {runs !== undefined && <code class="tools-runs" title={words.tools.runs}>{short(runs, MOST_SAID)}</code>}
      {said && <p class="tools-problem">{short(said, MOST_SAID)}</p>}
      {isUsed && problem === undefined && state?.kind === 'authRequired' && (
        <div class="tools-auth">
          <WhySignIn auth={state} />
          <SignIn auth={state} />
        </div>
      )}
      <Actions uri={uri} entry={entry} onAct={setAct}>
        <span class="tools-from">
          {container?.type === 'plugin' && <>{short(container.name, 60)} · </>}
          <SourceLink session={uri} uri={server.uri} line={lineOf(server)} folders={session.workingDirectories} />
        </span>
      </Actions>
      <Outcome act={act} />
    </li>
  );
}

const GLYPHS: Readonly<Record<string, readonly [IconNode, string]>> = {
  starting: [LoaderCircle, 'busy'],
  ready: [CircleCheck, 'ok'],
  authRequired: [Diamond, 'needs'],
  error: [OctagonX, 'error'],
  stopped: [Circle, 'quiet'],
};

function glyphOf({server, container, problem}: ServerEntry): readonly [IconNode, string] {
  if (problem !== undefined) return [OctagonX, 'error'];
  const kind = server.state?.kind;
  // What was switched off a moment ago may still run.
  if (offBy(server, container) !== undefined && kind !== 'ready' && kind !== 'starting') return [CircleOff, 'quiet'];
  return (Object.hasOwn(GLYPHS, kind) ? GLYPHS[kind] : undefined) ?? [Circle, 'quiet'];
}

function stateText({server, container, problem, trust}: ServerEntry): string {
  const {states} = words.tools;
  const by = offBy(server, container);
  const off = by === undefined ? undefined : by === 'container' ? words.tools.offWith(short(container?.name)) : by === 'flag' ? words.tools.off : words.tools.offIn[by] ?? words.tools.off;
  const isBarred = trust !== undefined && trust.state !== 'trusted' && trust.state !== 'session' && server.state?.kind === 'stopped';
  const is = problem !== undefined ? states.broken : isBarred ? states.untrusted : kindText(server.state);
  return off === undefined ? is : server.state?.kind === 'stopped' ? off : `${off} · ${is}`;
}

function kindText(state: McpServerState): string {
  const {states} = words.tools;
  switch (state?.kind) {
    case 'starting': return state.blocking === true ? states.waited : states.starting;
    case 'ready': return states.ready;
    case 'authRequired': return states.authRequired;
    case 'error': return states.error;
    case 'stopped': return states.stopped;
    default: return states.other(short((state as {kind?: unknown} | undefined)?.kind, 40));
  }
}

const REQUEST_ICONS = {start: Play, stop: Square, restart: RotateCw, doNotWait: StepForward} as const;

function Actions({uri, entry, onAct, children}: {uri: string; entry: ServerEntry; onAct(act: Act): void; children: ComponentChildren}) {
  const store = useStore();
  const [failure, setFailure] = useState<string>();
  const {server, container, log} = entry;
  const isUsed = isOn(server) && (!container || isOn(container));
  const name = short(server.name);
  const showLog = async (): Promise<void> => {
    setFailure(undefined);
    try {
      openTerminal(uri, log ?? (await store.ask('agenthost/mcpLog', {channel: uri, id: server.id})).terminal);
    } catch (error) {
      setFailure(short(failureText(error, {changes: true}), 500));
    }
  };
  return (
    <>
      <div class="tools-actions">
        {requestsOf(entry).map(request => (
          <ActButton
            key={request}
            icon={REQUEST_ICONS[request]}
            label={words.tools.of(words.tools[request], name)}
            whyNot={request === 'start' && !isUsed ? words.tools.offUntil : undefined}
            onClick={() => onAct(store.act(uri, requested(request, server.id), server.id))}
          >
            {words.tools[request]}
          </ActButton>
        ))}
        {log === undefined
          ? <ActButton kind="quiet" icon={ScrollText} label={words.tools.of(words.tools.log, name)} onClick={() => void showLog()}>{words.tools.log}</ActButton>
          : <Button kind="quiet" icon={ScrollText} label={words.tools.of(words.tools.log, name)} onClick={() => void showLog()}>{words.tools.log}</Button>}
        {children}
      </div>
      {failure !== undefined && <p class="ui-outcome" role="alert">{failure}</p>}
    </>
  );
}

function openTerminal(session: string, terminal: string): void {
  const at = route.peek();
  const here: SessionRoute = at.at === 'session' ? at : {at: 'session', session};
  go({...here, panel: 'terminals', file: terminal, line: undefined});
}
