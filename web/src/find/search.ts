/** Finding text in a chat, also in what is folded away. */
import type {ActiveTurn, ChatState, ResponsePart, ToolResultContent, Turn} from '../ahp/index.ts';
import {stripped} from '../ansi/parse.ts';
import {callFold, outputFold, thoughtFold} from '../chat/context.ts';
import {foldOf, rowKey} from '../chat/rows.ts';
import {saidText} from '../chat/parts/said.tsx';

/** A place where the text is. */
export interface Hit {
  /** The row of it, or the first of several rows that a long text has. */
  readonly row: string;
  /** Which occurrence in its text it is, from zero. */
  readonly nth: number;
  /** The fold of rows that has to be open to see it. */
  readonly fold: string | undefined;
  /** What has to be open inside the row. */
  readonly inside: readonly string[];
}

/** No more are looked for. */
export const MOST_HITS = 1000;
// Characters of one text that are searched.
const MOST_TEXT = 1_000_000;

interface Place {
  readonly text: string;
  readonly inside: readonly string[];
}

/** Every place where a chat has this text, in order; case does not count. */
export function findIn(chat: ChatState, query: string): Hit[] {
  const wanted = query.toLowerCase();
  const hits: Hit[] = [];
  if (!wanted) return hits;
  for (const turn of [...chat.turns, ...(chat.activeTurn ? [chat.activeTurn] : [])]) {
    addHits(hits, wanted, {text: turn.message.text, inside: []}, {row: `${turn.id}/message`, fold: undefined});
    turn.responseParts.forEach((part, index) => {
      for (const place of placesOf(turn, part, index)) addHits(hits, wanted, place, {row: rowKey(turn, index), fold: foldOf(turn, index)});
    });
    if (hits.length >= MOST_HITS) break;
  }
  return hits;
}

function addHits(hits: Hit[], wanted: string, place: Place, at: Pick<Hit, 'row' | 'fold'>): void {
  const text = place.text.slice(0, MOST_TEXT).toLowerCase();
  let nth = 0;
  for (let from = text.indexOf(wanted); from >= 0 && hits.length < MOST_HITS; from = text.indexOf(wanted, from + wanted.length)) {
    hits.push({...at, nth: nth++, inside: place.inside});
  }
}

/** The texts of a part, each with what has to be open to see it. */
function placesOf(turn: Turn | ActiveTurn, part: ResponsePart, index: number): Place[] {
  switch (part.kind) {
    case 'markdown': return [{text: part.content, inside: []}];
    case 'reasoning': return [{text: part.content, inside: [thoughtFold(turn.id, index)]}];
    case 'systemNotification': return [{text: saidText(part.content), inside: []}];
    case 'error': return [{text: part.error.message, inside: []}];
    case 'toolCall': return callPlaces(turn.id, part.toolCall);
    default: return [];
  }
}

function callPlaces(turn: string, call: Extract<ResponsePart, {kind: 'toolCall'}>['toolCall']): Place[] {
  const details = callFold(turn, call.toolCallId);
  const said = 'pastTenseMessage' in call ? call.pastTenseMessage : 'invocationMessage' in call ? call.invocationMessage : undefined;
  const input = 'toolInput' in call && typeof call.toolInput === 'string' ? call.toolInput : '';
  const contents = ('content' in call ? call.content : undefined) ?? [];
  return [
    {text: saidText(said), inside: []},
    {text: input, inside: [details]},
    ...contents.map(content => contentPlace(turn, call.toolCallId, details, content)),
  ];
}

function contentPlace(turn: string, call: string, details: string, content: ToolResultContent): Place {
  if (content.type === 'text') return {text: stripped(content.text.slice(0, MOST_TEXT)), inside: [details, outputFold(turn, call, 'text')]};
  if (content.type === 'terminal') return {text: stripped(content.result?.preview ?? ''), inside: [details, outputFold(turn, call, 'terminal')]};
  return {text: content.type === 'subagent' ? content.title : '', inside: []};
}
