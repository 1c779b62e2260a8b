/** What an approval card shows and offers, worked out from a tool call's state (pure). */
import type {
  ConfirmationOption,
  ContentRef,
  FileEdit,
  SessionState,
  StringOrMarkdown,
  ToolAnnotations,
  ToolCallPendingConfirmationState,
  ToolCallRiskAssessment,
} from '../ahp/index.ts';

/** One answer to an approval; without an id the host offered none of its own. */
export interface Choice {
  readonly id: string | undefined;
  readonly label: string;
  /** Whether picking it asks for words first. */
  readonly wantsReason: boolean;
}

/** The answers of a card, each side in the host's order; the first of a side is its plain button. */
export interface Choices {
  readonly deny: readonly Choice[];
  readonly approve: readonly Choice[];
}

export type RiskLevel = 'judging' | 'safe' | 'look' | 'risky';

/** What a judge said about a call; `reason` is empty while it still thinks. */
export interface Risk {
  readonly level: RiskLevel;
  readonly reason: StringOrMarkdown;
}

export type ToolHint = 'destructive' | 'openWorld' | 'readOnly';

/** A tool's input: as text, kept elsewhere, or none. */
export type CardInput = {readonly kind: 'text'; readonly text: string} | {readonly kind: 'kept'; readonly ref: ContentRef};

const SAFE_FROM = 0.8;
const RISKY_BELOW = 0.4;

/** The plain text or the markdown source of a message. */
export function textOf(value: StringOrMarkdown | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : String(value.markdown ?? '');
}

/** The question that a card asks. */
export function titleOf(call: ToolCallPendingConfirmationState): StringOrMarkdown {
  const said = [call.confirmationTitle, call.invocationMessage].find(title => textOf(title));
  return said ?? (call.displayName || call.toolName);
}

/** The host's options by side, or plain ones where it has none. */
export function choicesOf(call: ToolCallPendingConfirmationState, plain: {allow: string; deny: string}): Choices {
  const options = call.options ?? [];
  if (!options.length) {
    return {
      deny: [{id: undefined, label: plain.deny, wantsReason: false}],
      approve: [{id: undefined, label: plain.allow, wantsReason: false}],
    };
  }
  return {deny: side(options, 'deny'), approve: side(options, 'approve')};
}

function side(options: readonly ConfirmationOption[], kind: string): Choice[] {
  // The protocol does not say which denials want a reason, but their names do.
  return options
    .filter(option => option.kind === kind)
    .map(({id, label}) => ({id, label, wantsReason: kind === 'deny' && id.includes('reason')}));
}

/** What the judge says, if one was asked. */
export function riskOf(risk: ToolCallRiskAssessment | undefined): Risk | undefined {
  if (!risk) return undefined;
  if (risk.status === 'loading') return {level: 'judging', reason: ''};
  return {level: level(risk.safety), reason: risk.reason};
}

function level(safety: number): RiskLevel {
  if (safety >= SAFE_FROM) return 'safe';
  if (safety < RISKY_BELOW) return 'risky';
  return 'look';
}

/** The input to be shown, if the call has any. */
export function inputOf(call: {readonly toolInput?: string | ContentRef}): CardInput | undefined {
  if (call.toolInput === undefined || call.toolInput === null) return undefined;
  return typeof call.toolInput === 'string' ? {kind: 'text', text: call.toolInput} : {kind: 'kept', ref: call.toolInput};
}

/** Whether the input may be edited before it is allowed. */
export function isEditable(call: ToolCallPendingConfirmationState): boolean {
  return call.editable === true && typeof call.toolInput === 'string';
}

/** The edits that a call would make, if it tells. */
export const editsOf = (call: ToolCallPendingConfirmationState): readonly FileEdit[] => call.edits?.items ?? [];

/** What the tool says about itself; unproven, so only shown, never acted upon. */
export function hintsOf(call: ToolCallPendingConfirmationState, session: SessionState | undefined): readonly ToolHint[] {
  const says = annotationsOf(call, session);
  const hints: ToolHint[] = [];
  if (says?.destructiveHint && !says.readOnlyHint) hints.push('destructive');
  if (says?.openWorldHint) hints.push('openWorld');
  if (says?.readOnlyHint) hints.push('readOnly');
  return hints;
}

function annotationsOf(call: ToolCallPendingConfirmationState, session: SessionState | undefined): ToolAnnotations | undefined {
  const from = call.contributor;
  // A tool of an MCP server is in no list of the session's; another one's of that name says nothing of it.
  if (!session || from?.kind === 'mcp') return undefined;
  const owner = from?.kind === 'client' ? session.activeClients.find(client => client.clientId === from.clientId) : undefined;
  const tools = from?.kind === 'client' ? owner?.tools : session.serverTools;
  return tools?.find(tool => tool.name === call.toolName)?.annotations;
}
