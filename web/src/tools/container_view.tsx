/** A plugin or a folder of one kind: what is in it, with a switch for each. */
import {ChevronDown, ChevronRight} from 'lucide';
import {useState} from 'preact/hooks';
import type {ChildCustomization, SessionState} from '../ahp/index.ts';
import type {Act} from '../store/index.ts';
import {Button} from '../ui/button.tsx';
import {ErrorBoundary} from '../ui/error_boundary.tsx';
import {Icon} from '../ui/icon.tsx';
import {Outcome} from '../ui/outcome.tsx';
import {words} from '../words/index.ts';
import {nameOf, shortPath} from '../workspace/files/paths.ts';
import {childrenOf, isOn, problemOf} from './entries.ts';
import {type Container, leavesOf, lineOf} from './model.ts';
import {short} from './short.ts';
import {SourceLink} from './source_link.tsx';
import {UseSwitch} from './use_switch.tsx';

export interface ContainerViewProps {
  readonly uri: string;
  readonly session: SessionState;
  readonly container: Container;
}

/** Entries that are seen at once without opening, and entries that are shown at a time. */
const FEW = 8;
const AT_A_TIME = 100;

export function ContainerView({uri, session, container}: ContainerViewProps) {
  const leaves = leavesOf(container);
  const [isOpen, setOpen] = useState(leaves.length <= FEW);
  const [most, setMost] = useState(AT_A_TIME);
  const [act, setAct] = useState<Act>();
  const name = short(container.name);
  const about = (
    <span class="tools-names">
      <strong>{name}</strong>
      <span class="tools-about">{factsOf(container, session).join(' · ')}</span>
    </span>
  );
  return (
    <section class={isOn(container) ? 'tools-container' : 'tools-container off'} aria-label={name} data-entry={container.id}>
      <div class="tools-head">
        {leaves.length ? (
          <button type="button" class="tools-fold" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            <Icon of={isOpen ? ChevronDown : ChevronRight} />
            {about}
          </button>
        ) : <div class="tools-fold">{about}</div>}
        <UseSwitch uri={uri} session={session} entry={container} onAct={setAct} />
      </div>
      <Load container={container} />
      <Outcome act={act} />
      {isOpen && leaves.length > 0 && (
        <ul class="tools-leaves">
          {leaves.slice(0, most).map(leaf => (
            <ErrorBoundary key={leaf.id} of={leaf}><Leaf uri={uri} session={session} leaf={leaf} isMixed={container.type === 'plugin'} /></ErrorBoundary>
          ))}
        </ul>
      )}
      {isOpen && leaves.length > most && <Button kind="quiet" onClick={() => setMost(most + AT_A_TIME)}>{words.tools.showMore(Math.min(AT_A_TIME, leaves.length - most))}</Button>}
    </section>
  );
}

/** What a container says of itself as a whole; what its entries say is said there. */
function Load({container}: {container: Container}) {
  const {load} = container;
  if (load?.kind === 'loading') return <p class="tools-about" role="status">{words.tools.loads.loading}</p>;
  if (load?.kind !== 'degraded' && load?.kind !== 'error') return null;
  const isTold = childrenOf(container).some(child => problemOf(child) !== undefined);
  return <p class="tools-problem">{isTold ? words.tools.loads[load.kind] : short(load.message, 1000) || words.tools.loads[load.kind]}</p>;
}

function factsOf(container: Container, session: SessionState): string[] {
  const all = childrenOf(container);
  const kinds = Object.keys(words.tools.contents) as (keyof typeof words.tools.contents)[];
  const counted = kinds.flatMap(kind => {
    const number = all.filter(child => child.type === kind).length;
    return number ? [words.tools.contents[kind](number)] : [];
  });
  const place = container.clientId === undefined ? placeOf(container.uri, session.workingDirectories) : words.tools.fromClient;
  const what = container.type === 'plugin' ? [words.tools.plugin(short(container.version, 40) || undefined)] : [];
  return [...what, place, ...(counted.length ? counted : container.children ? [words.tools.nothing] : [])];
}

/** Where a container lies: below the session's folders, or what such a folder is called. */
function placeOf(uri: string, folders: readonly string[] | undefined): string {
  const isFolder = (folders ?? []).some(folder => folder.replace(/\/+$/, '') === uri.replace(/\/+$/, ''));
  return short(isFolder ? nameOf(uri) : shortPath(uri, folders));
}

function Leaf({uri, session, leaf, isMixed}: {uri: string; session: SessionState; leaf: ChildCustomization; isMixed: boolean}) {
  const [act, setAct] = useState<Act>();
  const problem = problemOf(leaf);
  const name = short(leaf.name);
  const description = 'description' in leaf ? short(leaf.description, 400) : '';
  const facts = [...(isMixed ? [words.tools.kinds[leaf.type] ?? short(leaf.type, 40)] : []), ...leafFacts(leaf)];
  return (
    <li class={isOn(leaf) ? 'tools-leaf' : 'tools-leaf off'} data-entry={leaf.id}>
      <div class="tools-leaf-text">
        <SourceLink session={uri} uri={leaf.uri} line={lineOf(leaf)} folders={session.workingDirectories} label={words.tools.openFile(name)}>{name}</SourceLink>
        {facts.length > 0 && <span class="tools-about"> {facts.join(' · ')}</span>}
        {description && <p class="tools-description">{description}</p>}
        {problem !== undefined && <p class="tools-problem">{short(problem, 1000)}</p>}
        <Outcome act={act} />
      </div>
      <UseSwitch uri={uri} session={session} entry={leaf} onAct={setAct} />
    </li>
  );
}

function leafFacts(leaf: ChildCustomization): string[] {
  const facts: string[] = [];
  const said = words.tools;
  if (leaf.type === 'rule' && leaf.alwaysApply) facts.push(said.always);
  if (leaf.type === 'rule' && leaf.globs?.length) facts.push(said.forFiles(short(leaf.globs.slice(0, 20).join(', '), 100)));
  if (leaf.type === 'hook') facts.push(said.neverRun);
  if (leaf.type === 'agent' && leaf.model) facts.push(said.onlyModel(short(leaf.model, 60)));
  if (leaf.type === 'agent' && leaf.tools?.length) facts.push(said.onlyTools(short(leaf.tools.slice(0, 20).join(', '), 100)));
  if (leaf.type === 'agent' || leaf.type === 'skill') {
    if (leaf.disableModelInvocation) facts.push(said.onlyPeople);
    if (leaf.disableUserInvocation) facts.push(said.onlyAgent);
  }
  return facts;
}
