/** Who has access: named tokens, made as a code to scan, and taken back. */
import {useState} from 'preact/hooks';
import type {Methods} from '../ahp/index.ts';
import {exact, relative} from '../sessions/times.ts';
import {useStore} from '../store/index.ts';
import {ActButton, Button} from '../ui/button.tsx';
import {visible} from '../ui/safe.tsx';
import {Sheet} from '../ui/sheet.tsx';
import {Skeleton} from '../ui/skeleton.tsx';
import {now} from '../ui/time.ts';
import {words} from '../words/index.ts';
import {GiveAccess} from './give_access.tsx';
import {type Asked, useAsked} from './use_asked.ts';

type Tokens = Methods['agenthost/listTokens']['result'];
type TokenInfo = Tokens['items'][number];

export function AccessSettings() {
  const store = useStore();
  const me = store.me.value;
  const isOwner = me?.role === 'owner';
  const tokens = useAsked<Tokens>(from => from.ask('agenthost/listTokens', {}), isOwner);
  const texts = words.settings.access;
  if (!isOwner) return <p>{texts.ownersOnly}</p>;
  return (
    <div class="forms-form">
      <p>{texts.about}</p>
      <GiveAccess taken={tokens.answer?.items.map(token => token.name) ?? []} onMade={() => tokens.change(() => Promise.resolve())} />
      <h2>{texts.tokens}</h2>
      {tokens.problem !== undefined && <p class="forms-problem" role="alert">{tokens.problem}</p>}
      {!tokens.answer && tokens.problem === undefined && <Skeleton lines={3} />}
      {tokens.answer?.items.length === 0 && <p>{texts.noTokens}</p>}
      <ul class="settings-list">
        {tokens.answer?.items.map(token => <TokenRow key={token.name} token={token} isMine={token.name === me.name} tokens={tokens} />)}
      </ul>
    </div>
  );
}

function TokenRow({token, isMine, tokens}: {token: TokenInfo; isMine: boolean; tokens: Asked<Tokens>}) {
  const [isAsking, setAsking] = useState(false);
  const texts = words.settings.access;
  const name = visible(token.name);
  const ends = token.expired ? texts.expired : token.expiresAt === undefined ? texts.never : texts.expires(relative(Date.parse(token.expiresAt), now.value));
  const facts = [words.settings.roles[token.role] ?? visible(token.role), texts.created(relative(Date.parse(token.createdAt), now.value)), ends, ...(isMine ? [texts.you] : [])];
  const revoke = (): void => {
    setAsking(false);
    tokens.change(store => store.ask('agenthost/revokeToken', {name: token.name}));
  };
  return (
    <li class="settings-row">
      <span class="settings-row-text" title={exact(Date.parse(token.createdAt))}>
        <strong>{name}</strong>
        <span class="forms-about">{facts.join(', ')}</span>
      </span>
      <ActButton label={texts.revokeOf(name)} onClick={() => setAsking(true)}>{texts.revoke}</ActButton>
      {isAsking && (
        <Sheet
          title={texts.revokeTitle(name)}
          onClose={() => setAsking(false)}
          actions={
            <>
              <Button onClick={() => setAsking(false)}>{words.shell.cancel}</Button>
              <ActButton kind="danger" onClick={revoke}>{texts.revoke}</ActButton>
            </>
          }
        >
          <p>{texts.revokeText}</p>
        </Sheet>
      )}
    </li>
  );
}
