/** The review of a tool's result before the agent may use it. */
import type {ToolCallPendingResultConfirmationState, ToolCallState} from '../ahp/index.ts';
import {approval, denial} from '../ahp/actions.ts';
import {useStore} from '../store/index.ts';
import {type CallRef, contentViews} from '../ui/registry.tsx';
import {width} from '../ui/width.ts';
import {words} from '../words/index.ts';
import {answerHere, settledOf} from './acts.ts';
import {textOf} from './approval.ts';
import {Brief} from './brief.tsx';
import {AnswerButton, Card} from './card.tsx';
import {Spelled} from './exact_text.tsx';
import {Told} from './told.tsx';

export function ResultRow({call, at}: {call: ToolCallState; at: CallRef}) {
  if (call.status !== 'pending-result-confirmation') return null;
  if (width.value === 'phone') return <Brief title={words.cards.useResult} from={textOf(call.pastTenseMessage)} at={at} id={call.toolCallId} />;
  return <ResultCard call={call} at={at} />;
}

export function ResultCard({call, at}: {call: ToolCallPendingResultConfirmationState; at: CallRef}) {
  const store = useStore();
  const settle = (use: boolean): void =>
    answerHere(store, at.chat, call.toolCallId, use ? approval(at.turn, call) : denial(at.turn, call), use ? 'use' : 'discard');
  return (
    <Card title={words.cards.useResult} from={call.displayName} id={call.toolCallId} settled={settledOf(at.chat, call.toolCallId).value}>
      <p><Told of={call.pastTenseMessage} /></p>
      {!call.success && <p class="cards-failed">{call.error?.message ? <Spelled text={call.error.message} /> : words.cards.failedResult}</p>}
      {call.content?.map((content, index) => {
        const View = contentViews.get(content.type);
        return <View key={index} content={content} at={at} />;
      })}
      <div class="cards-answers">
        <AnswerButton label={words.cards.discard} number={2} onClick={() => settle(false)} />
        <AnswerButton label={words.cards.useIt} kind="primary" number={1} onClick={() => settle(true)} />
      </div>
    </Card>
  );
}
