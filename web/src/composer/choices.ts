/** What can be chosen beside the box, from the states of host, session and chat (pure). */
import type {ChatState, RootState, SessionModelInfo, SessionState, Turn, UsageInfo} from '../ahp/index.ts';
import {usableAgents} from '../tools/entries.ts';
import type {Wanted} from './message.ts';

export interface Choice {
  /** Undefined means the host's own choice. */
  readonly id: unknown;
  readonly label: string;
  /** What it means, in a line. */
  readonly hint?: string | undefined;
}

export interface Model extends Choice {
  readonly id: string;
  readonly context: number | undefined;
}

/** The models of the session's agent. */
export function modelsOf(root: RootState | undefined, session: SessionState | undefined): readonly Model[] {
  const agent = root?.agents.find(each => each.provider === session?.provider);
  return (agent?.models ?? []).filter(isAllowed).map(model => ({id: model.id, label: model.name || model.id, context: model.maxContextWindow}));
}

const isAllowed = (model: SessionModelInfo): boolean => model.policyState !== 'disabled';

/** Characters of a name or a description that stand in a menu. */
const MOST = 120;

/** The custom agents of a session that can be chosen. */
export function agentsOf(session: SessionState | undefined): readonly Choice[] {
  return usableAgents(session).map(each => ({id: each.uri, label: each.name.slice(0, MOST), hint: each.description?.slice(0, MOST)}));
}

/** A setting of a session that can be changed while it runs. */
export interface Setting {
  readonly key: string;
  readonly title: string;
  readonly value: unknown;
  /** Undefined for one that is on or off. */
  readonly choices: readonly Choice[] | undefined;
}

/** Settings that are shown; the rest are changed elsewhere. */
const MOST_SETTINGS = 4;

/** The setting that says what runs without asking; it has a place of its own, in the head of the chat. */
export const APPROVALS = 'autoApprove';

/** The session's settings that a chip can change. */
export function settingsOf(session: SessionState | undefined): readonly Setting[] {
  const {schema, values} = session?.config ?? {};
  const changeable = Object.entries(schema?.properties ?? {}).filter(
    ([key, property]) => key !== APPROVALS && property.sessionMutable && !property.readOnly && (property.type === 'boolean' || (property.enum?.length ?? 0) > 1),
  );
  return changeable.slice(0, MOST_SETTINGS).map(([key, property]) => ({
    key,
    title: property.title,
    value: values && Object.hasOwn(values, key) ? values[key] : property.default,
    choices: property.enum?.map((id, index) => ({id, label: property.enumLabels?.[index] ?? String(id)})),
  }));
}

const newest = (chat: ChatState | undefined): Pick<Turn, 'message' | 'usage'> | undefined => chat?.activeTurn ?? chat?.turns.at(-1);

/** What a chat's next message asks for: what was chosen here, else what its newest message asked for. An agent that is there no more is asked for by nobody. */
export function wantedNow(chosen: Wanted, chat: ChatState | undefined, session: SessionState | undefined): Wanted {
  const last = newest(chat)?.message;
  const model = 'model' in chosen ? chosen.model : last?.model;
  const named = 'agent' in chosen ? chosen.agent : last?.agent?.uri;
  // Before the host has looked what there is, it alone can say.
  const agent = !session?.customizations || usableAgents(session).some(each => each.uri === named) ? named : undefined;
  return {...(model ? {model} : {}), ...(agent ? {agent} : {})};
}

/** How much of the context is used, as the newest turn that told has it. */
export function usageOf(chat: ChatState | undefined, models: readonly Model[]): {used: number; most: number | undefined} | undefined {
  const usage = chat?.activeTurn?.usage ?? chat?.turns.findLast(turn => turn.usage)?.usage;
  // Agents that count their context say so; the sum of a turn's requests is more than that.
  const used = usage && (told(usage, 'contextTokens') ?? amount(usage));
  if (!used) return undefined;
  const most = told(usage, 'contextWindow') ?? (models.find(model => model.id === usage.model) ?? (models.length === 1 ? models[0] : undefined))?.context;
  return {used, most: most && most >= used ? most : undefined};
}

function told(usage: UsageInfo, name: string): number | undefined {
  const value = usage._meta?.[name];
  return typeof value === 'number' && value > 0 ? value : undefined;
}

const amount = (usage: UsageInfo): number => (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0);
