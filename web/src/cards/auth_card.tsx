/** A call that waits until somebody signs in to the server behind it. */
import type {SessionState, StateAction, ToolCallAuthRequiredState, ToolCallState} from '../ahp/index.ts';
import {useFollowed, useStore} from '../store/index.ts';
import {entryOf} from '../tools/entries.ts';
import type {CallRef} from '../ui/registry.tsx';
import {words} from '../words/index.ts';
import {answerHere, settledOf} from './acts.ts';
import {AnswerButton, Card} from './card.tsx';
import {SignIn, WhySignIn} from './sign_in.tsx';

export function AuthRow({call, at}: {call: ToolCallState; at: CallRef}) {
  return call.status === 'auth-required' ? <AuthCard call={call} at={at} /> : null;
}

/** Characters of a server's name. */
const MOST_NAME = 100;

/** The name of the server that asks, as well as it is known. */
export function serverName(call: ToolCallAuthRequiredState, session: SessionState | undefined): string {
  // What the server calls itself comes last: it may call itself anything.
  const known = entryOf(session, call.contributor?.customizationId)?.name;
  return (known ?? call.auth.resource.resource_name ?? call.auth.resource.resource ?? '').slice(0, MOST_NAME) || words.cards.aServer;
}

export function AuthCard({call, at}: {call: ToolCallAuthRequiredState; at: CallRef}) {
  const store = useStore();
  const session = useFollowed(() => store.session(at.session), [at.session]);
  const cancel = (): void => answerHere(store, at.chat, call.toolCallId, cancelled(call, at.turn), 'cancel');
  return (
    <Card title={words.cards.needsSignIn(serverName(call, session.state.value))} from={call.displayName} id={call.toolCallId} settled={settledOf(at.chat, call.toolCallId).value}>
      <WhySignIn auth={call.auth} />
      <SignIn auth={call.auth} />
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
