/** Folders whose MCP servers may start or may not, by somebody's decision, which an owner can take back. */
import type {Methods, TrustedServer} from '../ahp/index.ts';
import {relative} from '../sessions/times.ts';
import {useStore} from '../store/index.ts';
import {ActButton} from '../ui/button.tsx';
import {visible} from '../ui/safe.tsx';
import {Skeleton} from '../ui/skeleton.tsx';
import {now} from '../ui/time.ts';
import {words} from '../words/index.ts';
import {type Asked, useAsked} from './use_asked.ts';

type Trust = Methods['agenthost/listTrust']['result'];
type Entry = Trust['items'][number];

export function TrustSettings() {
  const isOwner = useStore().me.value?.role === 'owner';
  const trust = useAsked<Trust>(from => from.ask('agenthost/listTrust', {}), isOwner);
  const texts = words.settings.trust;
  if (!isOwner) return <p>{texts.ownersOnly}</p>;
  return (
    <div class="forms-form">
      <p>{texts.about}</p>
      {trust.problem !== undefined && <p class="forms-problem" role="alert">{trust.problem}</p>}
      {!trust.answer && trust.problem === undefined && <Skeleton lines={3} />}
      {trust.answer?.items.length === 0 && <p>{texts.none}</p>}
      <ul class="settings-list">
        {trust.answer?.items.map(entry => <TrustRow key={entry.folder} entry={entry} trust={trust} />)}
      </ul>
    </div>
  );
}

/** Characters of a folder, and names that stand in a line. */
const MOST_FOLDER = 300;
const MOST_NAMES = 20;

const shown = (text: string, most: number): string => visible(text.length > most ? `${text.slice(0, most)}…` : text);

/** The names of servers, each once however often it was declared anew. */
const namesOf = (servers: readonly TrustedServer[]): string =>
  [...new Set(servers.map(({name}) => shown(name, 60)))].slice(0, MOST_NAMES).join(', ');

function TrustRow({entry, trust}: {entry: Entry; trust: Asked<Trust>}) {
  const texts = words.settings.trust;
  const folder = shown(entry.folder, MOST_FOLDER);
  const trusted = entry.servers.filter(server => server.trusted);
  const refused = entry.servers.filter(server => !server.trusted);
  const last = entry.servers.toSorted((one, other) => (other.at ?? '').localeCompare(one.at ?? ''))[0];
  return (
    <li class="settings-row">
      <span class="settings-row-text">
        <strong>{folder}</strong>
        {trusted.length > 0 && <span>{texts.trusted(namesOf(trusted))}</span>}
        {refused.length > 0 && <span>{texts.refused(namesOf(refused))}</span>}
        {last?.by && last.at && <span class="forms-about">{texts.by(shown(last.by, 60), relative(Date.parse(last.at), now.value))}</span>}
      </span>
      <ActButton label={texts.forgetOf(folder)} onClick={() => trust.change(store => store.ask('agenthost/forgetTrust', {folder: entry.folder}))}>{texts.forget}</ActButton>
    </li>
  );
}
