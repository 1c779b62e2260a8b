/** What the panel of tools shows of a session: its servers, its containers, its problems (pure). */
import type {ChildCustomization, ContainerCustomizationBase, Customization, CustomizationEnablement, Json, McpServerCustomization, SessionState, StateAction} from '../ahp/index.ts';
import {decided} from '../ahp/actions.ts';
import {type Entry, childrenOf, decisionsOf, isOn, problemOf} from './entries.ts';

/** A server, wherever in the tree it stands. */
export interface ServerEntry {
  readonly server: McpServerCustomization;
  /** What it came in; undefined for one that stands by itself. */
  readonly container: Customization | undefined;
  readonly problem: string | undefined;
  readonly trust: Trust | undefined;
  /** The command line or address, as the host tells it. */
  readonly runs: string | undefined;
  /** The terminal with its log, if there is one already. */
  readonly log: string | undefined;
}

/** How a folder's servers came to be allowed to start, or why they are not. */
export interface Trust {
  readonly folder: string;
  readonly state: 'trusted' | 'session' | 'asked' | 'refused' | 'untrusted';
  // Of what would run, as it is shown.
  readonly digest?: string;
}

/** Anything that cannot be used, or not all of it. */
export interface Problem {
  readonly id: string;
  readonly name: string;
  readonly uri: string;
  readonly line: number | undefined;
  readonly text: string;
}

/** The servers of a session, in the host's order, which stays. */
export function serversOf(session: SessionState): readonly ServerEntry[] {
  return (session.customizations ?? []).flatMap(entry => {
    if (entry.type === 'mcpServer') return [serverEntry(entry, undefined)];
    return childrenOf(entry).filter(child => child.type === 'mcpServer').map(child => serverEntry(child as McpServerCustomization, entry));
  });
}

function serverEntry(server: McpServerCustomization, container: Customization | undefined): ServerEntry {
  return {server, container, problem: problemOf(server), trust: trustOf(server._meta?.['agenthost/trust']), runs: textOf(server, 'agenthost/runs'), log: textOf(server, 'agenthost/log')};
}

function textOf(entry: Entry, key: string): string | undefined {
  const told = entry._meta?.[key];
  return typeof told === 'string' && told ? told : undefined;
}

const TRUST_STATES: ReadonlySet<unknown> = new Set(['trusted', 'session', 'asked', 'refused', 'untrusted']);

function trustOf(told: Json | undefined): Trust | undefined {
  if (typeof told !== 'object' || told === null || Array.isArray(told)) return undefined;
  const {folder, state, digest} = told as {folder?: unknown; state?: unknown; digest?: unknown};
  if (typeof folder !== 'string' || !TRUST_STATES.has(state)) return undefined;
  return {folder, state: state as Trust['state'], ...(typeof digest === 'string' && digest ? {digest} : {})};
}

/** The folders whose servers need trust, each with those servers. */
export function trustedFolders(servers: readonly ServerEntry[]): readonly {readonly folder: string; readonly servers: readonly ServerEntry[]}[] {
  const byFolder = new Map<string, ServerEntry[]>();
  for (const entry of servers) {
    if (!entry.trust) continue;
    const same = byFolder.get(entry.trust.folder);
    if (same) same.push(entry);
    else byFolder.set(entry.trust.folder, [entry]);
  }
  return [...byFolder].map(([folder, of]) => ({folder, servers: of}));
}

/** What a server may be asked for now. */
export function requestsOf({server, problem}: ServerEntry): readonly ('start' | 'stop' | 'restart' | 'doNotWait')[] {
  if (problem !== undefined) return [];
  switch (server.state?.kind) {
    case 'starting': return server.state.blocking === true ? ['doNotWait', 'stop'] : ['stop'];
    case 'ready': return ['restart', 'stop'];
    case 'authRequired': return ['stop'];
    default: return ['start'];
  }
}

const REQUESTED = {start: 'session/mcpServerStartRequested', restart: 'session/mcpServerStartRequested', stop: 'session/mcpServerStopRequested', doNotWait: 'session/mcpServerBackgroundRequested'} as const;

/** The action that asks for it; starting a server that runs is a restart. */
export const requested = (request: keyof typeof REQUESTED, id: string): StateAction => ({type: REQUESTED[request], id}) as StateAction;

/** A container: a plugin, or a folder of one kind. */
export type Container = Exclude<Customization, McpServerCustomization>;

/** The containers of a session, in the host's order; folders of servers alone are shown as those servers. */
export const containersOf = (session: SessionState): readonly Container[] =>
  (session.customizations ?? []).filter((entry): entry is Container => entry.type === 'plugin' || (entry.type === 'directory' && (entry.contents !== 'mcpServer' || loadProblem(entry) !== undefined)));

const KNOWN: ReadonlySet<string> = new Set(['plugin', 'directory', 'mcpServer']);

/** What this page has never heard of. */
export const unheardOf = (session: SessionState): readonly Customization[] => (session.customizations ?? []).filter(entry => !KNOWN.has(entry.type));

/** The leaves of a container but for its servers, what is wrong first. */
export function leavesOf(container: Container): readonly ChildCustomization[] {
  const leaves = childrenOf(container).filter(child => child.type !== 'mcpServer');
  const broken = leaves.filter(child => problemOf(child) !== undefined);
  return broken.length ? [...broken, ...leaves.filter(child => problemOf(child) === undefined)] : leaves;
}

const loadProblem = (container: ContainerCustomizationBase): string | undefined =>
  container.load?.kind === 'degraded' || container.load?.kind === 'error' ? container.load.message : undefined;

/** Everything that cannot be used as it is. Containers tell of their leaves, which tell it themselves. */
export function problemsIn(session: SessionState): readonly Problem[] {
  return (session.customizations ?? []).flatMap(entry => {
    const inside = childrenOf(entry).flatMap(child => problemIn(child, problemOf(child)));
    const own = problemOf(entry) ?? ('load' in entry && !inside.length ? loadProblem(entry) : undefined);
    return [...problemIn(entry, own), ...inside];
  });
}

const problemIn = (entry: Entry, text: string | undefined): readonly Problem[] =>
  text === undefined ? [] : [{id: entry.id, name: entry.name, uri: entry.uri, line: lineOf(entry), text}];

/** The line of its file on which an entry begins, counted from one. */
export function lineOf(entry: Entry): number | undefined {
  const line = entry.range?.start.line;
  return typeof line === 'number' && Number.isInteger(line) && line >= 0 ? line + 1 : undefined;
}

export type Scope = CustomizationEnablement['kind'];

/** The scopes in which something can be decided, the narrowest first; without a folder there is no workspace. */
export const scopesOf = (session: SessionState): readonly Scope[] => (session.workingDirectories?.[0] === undefined ? ['session', 'global'] : ['session', 'workspace', 'global']);

/** What was decided in a scope. */
export const decisionIn = (entry: Entry, scope: Scope): boolean | undefined => decisionsOf(entry).find(decision => decision.kind === scope)?.enabled;

/** The action that decides in a scope, or takes the decision there back, and keeps those in the other scopes. */
export function toggled(session: SessionState, entry: Entry, scope: Scope, enabled: boolean | undefined): StateAction {
  const enablement = enabled === undefined
    ? decisionsOf(entry).filter(decision => decision.kind !== scope)
    : decided(session, entry.id, enabled, scope === 'workspace' ? (session.workingDirectories?.[0] ?? '') : scope);
  return {type: 'session/customizationToggled', id: entry.id, enablement} as StateAction;
}

/** Why an entry is not used: by which scope's decision, or by its container's. */
export function offBy(entry: Entry, container: Customization | undefined): Scope | 'container' | 'flag' | undefined {
  if (!isOn(entry)) return decisionsOf(entry)[0]?.kind ?? 'flag';
  return container && !isOn(container) ? 'container' : undefined;
}
