/** Signing in to a server behind a host: where a token is got, and the field that takes it. */
import {useSignal} from '@preact/signals';
import type {McpAuthRequirement} from '../ahp/index.ts';
import {useStore} from '../store/index.ts';
import {ActButton} from '../ui/button.tsx';
import {Link, visible} from '../ui/safe.tsx';
import {words} from '../words/index.ts';
import {Spelled} from './exact_text.tsx';

/** Addresses of sign-in servers that are shown, and characters of one. */
const MOST_SERVERS = 5;
const MOST_ADDRESS = 300;

/** Why a server wants to know who one is, and where a token for it is got. */
export function WhySignIn({auth}: {auth: McpAuthRequirement}) {
  const scopes = auth.requiredScopes ?? [];
  const servers = auth.resource.authorization_servers ?? [];
  return (
    <>
      <p>{auth.description ? <Spelled text={auth.description} most={2000} /> : words.cards.authReasons[auth.reason] ?? ''}</p>
      {scopes.length > 0 && <p class="cards-note"><Spelled text={words.cards.authScopes(scopes.slice(0, 50).join(', '))} most={1000} /></p>}
      {servers.slice(0, MOST_SERVERS).map(server => (
        <p key={server} class="cards-auth-server">{words.cards.authServers} <Address of={server} /></p>
      ))}
    </>
  );
}

/** An address as it is, opened only if it is one of a page; a long one hides where it leads. */
function Address({of}: {of: string}) {
  return of.length > MOST_ADDRESS ? <span class="ui-not-link">{visible(of.slice(0, MOST_ADDRESS))}…</span> : <Link href={of} />;
}

/** A token for a resource, pasted. It is forgotten here as soon as it is sent. */
export function SignIn({auth}: {auth: McpAuthRequirement}) {
  const store = useStore();
  const token = useSignal('');
  const said = useSignal('');
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const given = token.value.trim();
    if (!given) return;
    said.value = words.cards.signingIn;
    token.value = '';
    const {requiredScopes: scopes, resource} = auth;
    try {
      await store.ask('authenticate', {resource: resource.resource, token: given, ...(scopes ? {scopes} : {})});
      said.value = '';
    } catch (error) {
      said.value = words.cards.signInFailed(visible(error instanceof Error ? error.message : String(error)));
    }
  };
  return (
    <form class="cards-sign-in" onSubmit={event => void submit(event)}>
      <label>
        <span>{words.cards.token}</span>
        <input class="cards-field" type="password" autocomplete="off" placeholder={words.cards.tokenHint} value={token} onInput={event => void (token.value = event.currentTarget.value)} />
      </label>
      <ActButton submit kind="primary">{words.cards.signIn}</ActButton>
      {said.value && <p class="cards-note" role="status">{said}</p>}
    </form>
  );
}
