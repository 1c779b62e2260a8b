/** Finding sessions by what a person remembers of them: title, project, agent, activity, and the titles of their chats. */
import uFuzzy from '@leeoniya/ufuzzy';
import type {SessionSummary} from '../ahp/index.ts';
import {projectOf} from './list_model.ts';

const fuzzy = new uFuzzy({intraMode: 1});
// A host's texts are of any length; what is searched is not.
const MOST_SEARCHED = 400;

/** The URIs of the sessions that match, the best first; undefined where nothing is searched for. */
export function find(sessions: readonly SessionSummary[], query: string): readonly string[] | undefined {
  const wanted = query.trim();
  if (!wanted) return undefined;
  const haystack = sessions.map(searched);
  const [matches, info, order] = fuzzy.search(haystack, wanted, 1);
  if (!matches) return [];
  const ranked = info && order ? order.map(place => info.idx[place]!) : matches;
  return ranked.map(index => sessions[index]!.resource);
}

function searched(session: SessionSummary): string {
  const chats = (session.chats ?? []).map(chat => chat.title);
  const texts = [session.title, projectOf(session).name, session.provider, session.activity ?? '', ...chats];
  return texts.join(' ').slice(0, MOST_SEARCHED);
}
