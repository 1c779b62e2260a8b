/** What turns have used, and how much of the model's context that is. */
import type {AgentInfo, ChatState, SessionModelInfo, UsageInfo} from '../ahp/index.ts';

export interface ContextUse {
  readonly used: number;
  readonly most: number;
}

const count = (value: unknown): number | undefined => (typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined);

/** How full the context is, by the newest turn that says; undefined where nobody knows. */
export function contextUse(chat: ChatState, model: SessionModelInfo | undefined): ContextUse | undefined {
  const usage = chat.activeTurn?.usage ?? chat.turns.findLast(turn => turn.usage !== undefined)?.usage;
  if (!usage) return undefined;
  const most = count(usage._meta?.['contextWindow']) ?? count(model?.maxContextWindow);
  const used = count(usage._meta?.['contextTokens']) ?? tokensOf(usage);
  // A turn of many requests adds them all up, and then says nothing about the context.
  return most && used !== undefined && used <= most ? {used, most} : undefined;
}

/** All tokens of a turn. */
export const tokensOf = (usage: UsageInfo): number => (count(usage.inputTokens) ?? 0) + (count(usage.outputTokens) ?? 0);

/** The model that a chat last used, or the agent's first. */
export function modelOf(chat: ChatState | undefined, agent: AgentInfo | undefined): SessionModelInfo | undefined {
  const turn = chat?.activeTurn ?? chat?.turns.at(-1);
  const id = turn?.usage?.model ?? turn?.message.model?.id;
  return agent?.models.find(model => model.id === id) ?? agent?.models[0];
}

/** "940", "12k", "1.2M". */
export function shortCount(number: number): string {
  if (number < 1000) return String(Math.round(number));
  if (number < 1_000_000) return `${number < 10_000 ? (number / 1000).toFixed(1).replace(/\.0$/, '') : Math.round(number / 1000)}k`;
  return `${(number / 1_000_000).toFixed(1).replace(/\.0$/, '')}M`;
}
