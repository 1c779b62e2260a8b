/** Disposed sessions, which an owner can take back for a while. */
import {useState} from 'preact/hooks';
import type {Methods} from '../ahp/index.ts';
import {relative} from '../sessions/times.ts';
import {useStore} from '../store/index.ts';
import {ActButton, Button} from '../ui/button.tsx';
import {visible} from '../ui/safe.tsx';
import {Sheet} from '../ui/sheet.tsx';
import {Skeleton} from '../ui/skeleton.tsx';
import {now} from '../ui/time.ts';
import {words} from '../words/index.ts';
import {type Asked, useAsked} from './use_asked.ts';

type Trash = Methods['agenthost/listTrash']['result'];
type Entry = Trash['items'][number];

export function TrashSettings() {
  const isOwner = useStore().me.value?.role === 'owner';
  const trash = useAsked<Trash>(from => from.ask('agenthost/listTrash', {}), isOwner);
  const texts = words.settings.trash;
  if (!isOwner) return <p>{texts.ownersOnly}</p>;
  return (
    <div class="forms-form">
      <p>{texts.about}</p>
      {trash.problem !== undefined && <p class="forms-problem" role="alert">{trash.problem}</p>}
      {!trash.answer && trash.problem === undefined && <Skeleton lines={3} />}
      {trash.answer?.items.length === 0 && <p>{texts.empty}</p>}
      <ul class="settings-list">
        {trash.answer?.items.map(entry => <TrashRow key={entry.session} entry={entry} trash={trash} />)}
      </ul>
    </div>
  );
}

function TrashRow({entry, trash}: {entry: Entry; trash: Asked<Trash>}) {
  const [isAsking, setAsking] = useState(false);
  const texts = words.settings.trash;
  const title = visible(entry.title) || words.sessions.untitled;
  const facts = [visible(entry.provider), texts.disposed(relative(Date.parse(entry.disposedAt), now.value)), texts.until(relative(Date.parse(entry.expiresAt), now.value))];
  const purge = (): void => {
    setAsking(false);
    trash.change(store => store.ask('agenthost/purgeSession', {channel: entry.session}));
  };
  return (
    <li class="settings-row">
      <span class="settings-row-text">
        <strong>{title}</strong>
        <span class="forms-about">{facts.join(', ')}</span>
      </span>
      <ActButton label={texts.restoreOf(title)} onClick={() => trash.change(store => store.ask('agenthost/restoreSession', {channel: entry.session}))}>{texts.restore}</ActButton>
      <ActButton label={texts.purgeOf(title)} onClick={() => setAsking(true)}>{texts.purge}</ActButton>
      {isAsking && (
        <Sheet
          title={texts.purgeTitle}
          onClose={() => setAsking(false)}
          actions={
            <>
              <Button onClick={() => setAsking(false)}>{words.shell.cancel}</Button>
              <ActButton kind="danger" onClick={purge}>{texts.purge}</ActButton>
            </>
          }
        >
          <p>{texts.purgeText(title)}</p>
        </Sheet>
      )}
    </li>
  );
}
