/** What a session waits for, in the little room of a list's row: pure, and wary of what is not wholly in view. */
import type {J} from '../ahp/edits.ts';
import type {SessionInputRequest} from '../ahp/index.ts';

// More than this does not stand whole in a row, however narrow the list is.
const MOST_LINES = 2;
const MOST_CHARACTERS = 120;
const MOST_SHOWN = 240;
// Below this a judge called the call risky.
const RISKY = 0.4;

/** A request for somebody, as the store tells it; `since` is in milliseconds. */
export interface WaitingRequest {
  readonly session: string;
  readonly chat: string;
  readonly request: SessionInputRequest;
  readonly since: number;
}

/** The approving option that may be chosen in the row itself; without an id the host named no options. */
export interface Offer {
  readonly option: string | undefined;
  readonly label: string | undefined;
}

/** What a row says about the request that has waited longest in its session. */
export interface Ask {
  readonly id: string;
  readonly chat: string;
  readonly kind: 'approve' | 'result' | 'answer' | 'signIn' | 'unknown';
  readonly turn: string | undefined;
  readonly call: J | undefined;
  /** One line that says what it is about. */
  readonly headline: string;
  /** The exact input, to be shown as it is; undefined where there is none or it is elsewhere. */
  readonly input: string | undefined;
  readonly offer: Offer | undefined;
  readonly since: number;
  /** How many more requests of this session wait. */
  readonly more: number;
}

/** Text of a member that may be markdown. */
export const plain = (text: J): string => (typeof text === 'string' ? text : typeof text?.markdown === 'string' ? text.markdown : '');

/** Say what waits in one session; the list is of that session alone and not empty. */
export function askOf(waiting: readonly WaitingRequest[]): Ask | undefined {
  const forPeople = waiting.filter(one => one.request.kind !== 'toolClientExecution');
  const first = forPeople.toSorted((a, b) => a.since - b.since)[0];
  if (!first) return undefined;
  return {...described(first.request), id: first.request.id, chat: first.chat, since: first.since, more: forPeople.length - 1};
}

type Described = Pick<Ask, 'kind' | 'turn' | 'call' | 'headline' | 'input' | 'offer'>;

function described(request: J): Described {
  switch (request.kind) {
    case 'toolConfirmation':
      return describedCall(request);
    case 'chatInput':
      return {...NOTHING, kind: 'answer', headline: question(request.request)};
    case 'toolAuthentication':
      return {...NOTHING, kind: 'signIn', turn: request.turnId, headline: line(request.toolCall?.displayName ?? '')};
    default:
      return {...NOTHING, kind: 'unknown', headline: String(request.kind)};
  }
}

const NOTHING = {turn: undefined, call: undefined, input: undefined, offer: undefined} as const;

function describedCall(request: J): Described {
  const call = request.toolCall ?? {};
  const isResult = call.status === 'pending-result-confirmation';
  const title = isResult ? plain(call.pastTenseMessage) : plain(call.confirmationTitle) || plain(call.invocationMessage);
  const input = typeof call.toolInput === 'string' ? call.toolInput : undefined;
  return {
    kind: isResult ? 'result' : 'approve',
    turn: request.turnId,
    call,
    headline: line(title || String(call.displayName ?? '')),
    input: input?.slice(0, MOST_SHOWN),
    offer: isResult ? undefined : offerOf(call),
  };
}

/** The option that a row may offer: the host's first approving one, if nothing of the request is out of view. */
export function offerOf(call: J): Offer | undefined {
  if (call.status !== 'pending-confirmation' || !isWholeInView(call) || isRisky(call.riskAssessment)) return undefined;
  const options: readonly J[] = Array.isArray(call.options) ? call.options : [];
  if (!options.length) return {option: undefined, label: undefined};
  const approving = options.filter(option => option.kind === 'approve').toSorted((a, b) => (a.group ?? 0) - (b.group ?? 0))[0];
  return approving && {option: approving.id, label: approving.label};
}

function isWholeInView(call: J): boolean {
  // Whose tool it is stands in no row.
  if (call.edits?.items?.length || call.contributor?.kind === 'mcp') return false;
  if (call.toolInput !== undefined && typeof call.toolInput !== 'string') return false;
  const title = plain(call.confirmationTitle) || plain(call.invocationMessage);
  const text = call.toolInput ?? title;
  // Of a title the row shows one line.
  return text !== '' && fits(text) && fits(title) && line(title) === title.trim();
}

const fits = (text: string): boolean => text.length <= MOST_CHARACTERS && text.trimEnd().split('\n').length <= MOST_LINES;

function isRisky(risk: J): boolean {
  if (risk === undefined || risk === null) return false;
  return risk.status !== 'complete' || !(risk.safety >= RISKY);
}

function question(request: J): string {
  const questions: readonly J[] = request?.questions ?? [];
  return line(request?.message || questions[0]?.message || questions[0]?.title || request?.url || '');
}

const line = (text: unknown): string => (String(text ?? '').trim().split('\n', 1)[0] ?? '').slice(0, MOST_SHOWN);
