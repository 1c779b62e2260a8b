/** A call that waits until somebody signs in to the server behind it. */
import {useSignal} from '@preact/signals';
import type {SessionState, StateAction, ToolCallAuthRequiredState, ToolCallState} from '../ahp/index.ts';
import {useFollowed, useStore} from '../store/index.ts';
import {ActButton} from '../ui/button.tsx';
import type {CallRef} from '../ui/registry.tsx';
import {Link} from '../ui/safe.tsx';
import {words} from '../words/index.ts';
import {answerHere, settledOf} from './acts.ts';
import {AnswerButton, Card} from './card.tsx';
import {Spelled} from './exact_text.tsx';

export function AuthRow({call, at}: {call: ToolCallState; at: CallRef}) {
  return call.status === 'auth-required' ? <AuthCard call={call} at={at} /> : null;
}

/** The name of the server that asks, as well as it is known. */
export function serverName(call: ToolCallAuthRequiredState, session: SessionState | undefined): string {
  const id = call.contributor?.customizationId;
  const all = (session?.customizations ?? []).flatMap(entry => [entry, ...(('children' in entry && entry.children) || [])]);
  return call.auth.resource.resource_name ?? all.find(entry => entry.id === id)?.name ?? (call.auth.resource.resource || words.cards.aServer);
}

export function AuthCard({call, at}: {call: ToolCallAuthRequiredState; at: CallRef}) {
  const store = useStore();
  const session = useFollowed(() => store.session(at.session), [at.session]);
  const {auth} = call;
  const scopes = auth.requiredScopes ?? [];
  const cancel = (): void => answerHere(store, at.chat, call.toolCallId, cancelled(call, at.turn), 'cancel');
  return (
    <Card title={words.cards.needsSignIn(serverName(call, session.state.value))} from={call.displayName} id={call.toolCallId} settled={settledOf(at.chat, call.toolCallId).value}>
      <p>{auth.description ? <Spelled text={auth.description} /> : words.cards.authReasons[auth.reason] ?? ''}</p>
      {scopes.length > 0 && <p class="cards-note"><Spelled text={words.cards.authScopes(scopes.join(', '))} /></p>}
      {(auth.resource.authorization_servers ?? []).map(server => (
        <p key={server}>{words.cards.authServers} <Link href={server} /></p>
      ))}
      <SignIn call={call} />
      <div class="cards-answers">
        <AnswerButton label={words.cards.cancelCall} onClick={cancel} />
      </div>
    </Card>
  );
}

/** Any client may give up on a call that waits for a sign-in. */
const cancelled = (call: ToolCallAuthRequiredState, turnId: string): StateAction => ({
  type: 'chat/toolCallComplete',
  turnId,
  toolCallId: call.toolCallId,
  result: {success: false, pastTenseMessage: call.invocationMessage, error: {message: 'cancelled', code: 'cancelled'}},
});

function SignIn({call}: {call: ToolCallAuthRequiredState}) {
  const store = useStore();
  const token = useSignal('');
  const said = useSignal('');
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (!token.value.trim()) return;
    said.value = words.cards.signingIn;
    const {requiredScopes: scopes, resource} = call.auth;
    try {
      await store.ask('authenticate', {resource: resource.resource, token: token.value.trim(), ...(scopes ? {scopes} : {})});
      said.value = '';
    } catch (error) {
      said.value = words.cards.signInFailed(error instanceof Error ? error.message : String(error));
    }
    token.value = '';
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
