/** What turns have used, and of which model. */
import type {AgentInfo, ChatState, UsageInfo} from '../ahp/index.ts';

const count = (value: unknown): number | undefined => (typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined);

/** All tokens of a turn. */
export const tokensOf = (usage: UsageInfo): number => (count(usage.inputTokens) ?? 0) + (count(usage.outputTokens) ?? 0);

/** The model that a chat last used, by its id. */
export function usedModel(chat: ChatState | undefined): string | undefined {
  const turn = chat?.activeTurn ?? chat?.turns.at(-1);
  return turn?.usage?.model ?? turn?.message.model?.id;
}

/** The name of a model; without an id, of the agent's first. */
export function modelName(id: string | undefined, agent: AgentInfo | undefined): string | undefined {
  return (agent?.models.find(model => model.id === id) ?? agent?.models[0])?.name;
}

/** "940", "12k", "1.2M". */
export function shortCount(number: number): string {
  if (number < 1000) return String(Math.round(number));
  if (number < 1_000_000) return `${number < 10_000 ? (number / 1000).toFixed(1).replace(/\.0$/, '') : Math.round(number / 1000)}k`;
  return `${(number / 1_000_000).toFixed(1).replace(/\.0$/, '')}M`;
}
