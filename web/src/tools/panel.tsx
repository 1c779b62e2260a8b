/** The panel of tools: the MCP servers of a session, and everything else that people bring to it. */
import '../forms/forms.css';
import {OctagonX} from 'lucide';
import type {SessionState} from '../ahp/index.ts';
import {useFollowed, useStore} from '../store/index.ts';
import {ErrorBoundary} from '../ui/error_boundary.tsx';
import {Icon} from '../ui/icon.tsx';
import {type ChatRef, Unknown} from '../ui/registry.tsx';
import {Skeleton} from '../ui/skeleton.tsx';
import {words} from '../words/index.ts';
import {ContainerView} from './container_view.tsx';
import {type Problem, containersOf, problemsIn, serversOf, trustedFolders, unheardOf} from './model.ts';
import {ServerRow} from './server_row.tsx';
import {short} from './short.ts';
import {SourceLink} from './source_link.tsx';
import './tools.css';
import {FolderTrust} from './trust.tsx';

/** Problems that are told at the top. */
const MOST_PROBLEMS = 10;

export function ToolsPanel({session: uri}: ChatRef) {
  const store = useStore();
  const followed = useFollowed(() => store.session(uri), [store, uri]);
  const session = followed.state.value;
  if (!session) return followed.gone.value === undefined ? <Skeleton lines={4} /> : <p class="tools-empty">{words.link.refused(followed.gone.value)}</p>;
  if (!session.customizations) return <p class="tools-empty">{words.tools.unread}</p>;
  if (!session.customizations.length) return <p class="tools-empty">{words.tools.empty}</p>;
  return (
    <div class="tools" tabIndex={0} role="region" aria-label={words.shell.panels.tools}>
      <Problems uri={uri} session={session} />
      <Servers uri={uri} session={session} />
      <Brought uri={uri} session={session} />
      {unheardOf(session).slice(0, MOST_PROBLEMS).map(entry => <Unknown key={entry.id} kind={short(entry.type, 40)} raw={entry} />)}
    </div>
  );
}

interface PartProps {
  readonly uri: string;
  readonly session: SessionState;
}

function Problems({uri, session}: PartProps) {
  const problems = problemsIn(session);
  if (!problems.length) return null;
  return (
    <section class="tools-problems">
      <h2><Icon of={OctagonX} /> {words.tools.problems(problems.length)}</h2>
      <ul>{problems.slice(0, MOST_PROBLEMS).map(problem => <ProblemRow key={problem.id} uri={uri} session={session} problem={problem} />)}</ul>
      {problems.length > MOST_PROBLEMS && <p class="tools-about">{words.tools.moreProblems(problems.length - MOST_PROBLEMS)}</p>}
    </section>
  );
}

function ProblemRow({uri, session, problem}: PartProps & {problem: Problem}) {
  return (
    <li>
      <strong>{short(problem.name)}</strong>{' '}
      <SourceLink session={uri} uri={problem.uri} line={problem.line} folders={session.workingDirectories} />
      <p>{short(problem.text, 400)}</p>
    </li>
  );
}

function Servers({uri, session}: PartProps) {
  const servers = serversOf(session);
  return (
    <section>
      <h2>{words.tools.servers}</h2>
      {trustedFolders(servers).map(({folder, servers: of}) => <FolderTrust key={folder} uri={uri} folder={folder} servers={of} />)}
      {servers.length
        ? <ul class="tools-servers">{servers.map(entry => <ErrorBoundary key={entry.server.id} of={entry}><ServerRow uri={uri} session={session} entry={entry} /></ErrorBoundary>)}</ul>
        : <p class="tools-about">{words.tools.noServers}</p>}
    </section>
  );
}

function Brought({uri, session}: PartProps) {
  const containers = containersOf(session);
  if (!containers.length) return null;
  return (
    <section>
      <h2>{words.tools.brought}</h2>
      {containers.map(container => <ErrorBoundary key={container.id} of={container}><ContainerView uri={uri} session={session} container={container} /></ErrorBoundary>)}
    </section>
  );
}
