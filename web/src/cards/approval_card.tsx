/** The approval of a tool call: exactly what would run, and the host's answers to that. */
import {type Signal, useSignal} from '@preact/signals';
import {Pencil} from 'lucide';
import {useRef} from 'preact/hooks';
import type {SessionState, ToolCallPendingConfirmationState, ToolCallState} from '../ahp/index.ts';
import {approval, denial} from '../ahp/actions.ts';
import {useFollowed, useStore} from '../store/index.ts';
import {ActButton, Button} from '../ui/button.tsx';
import type {CallRef} from '../ui/registry.tsx';
import {visible} from '../ui/safe.tsx';
import {width} from '../ui/width.ts';
import {words} from '../words/index.ts';
import {answerHere, settledOf} from './acts.ts';
import {type Choice, type Choices, choicesOf, editsOf, hintsOf, inputOf, isEditable, riskOf, titleOf} from './approval.ts';
import {AnswerButton, Card} from './card.tsx';
import {EditsPreview} from './edits_preview.tsx';
import {ExactText, Spelled} from './exact_text.tsx';
import {Brief} from './brief.tsx';
import {type Text, useTexts} from './read_text.ts';
import {RiskLine} from './risk_line.tsx';
import {indented, serverToolOf} from './tool_source.ts';

type Call = ToolCallPendingConfirmationState;

/** Characters of a name. */
const FEW = 200;

/** An approval in the transcript; on a phone its beginning, which opens the rest. */
export function ApprovalRow({call, at}: {call: ToolCallState; at: CallRef}) {
  if (call.status !== 'pending-confirmation') return null;
  if (width.value === 'phone') return <Brief title={titleOf(call)} from={call.displayName} at={at} id={call.toolCallId} input={inputOf(call)} />;
  return <ApprovalCard call={call} at={at} />;
}

/** The whole approval. */
export function ApprovalCard({call, at}: {call: Call; at: CallRef}) {
  const store = useStore();
  const session = useFollowed(() => store.session(at.session), [at.session]);
  const edited = useSignal<string | undefined>(undefined);
  const denying = useSignal<Choice | undefined>(undefined);
  const settled = settledOf(at.chat, call.toolCallId).value;
  const version = useVersion([call.toolInput, call.edits, call.options, call.confirmationTitle]);
  const edits = editsOf(call);
  const input = inputOf(call);
  const [kept] = useTexts([input?.kind === 'kept' ? input.ref : undefined]).value;
  // Nobody is to allow what they could not read.
  const isReadable = input?.kind !== 'kept' || kept?.state === 'here';
  const risk = riskOf(call.riskAssessment);
  return (
    <Card title={titleOf(call)} from={call.displayName} id={call.toolCallId} settled={settled}>
      <Source call={call} session={session.state.value} />
      {call.intention && <p class="cards-intention"><Spelled text={call.intention} /></p>}
      <Input call={call} edited={edited} kept={kept} />
      {edits.length > 0 && <EditsPreview edits={edits} />}
      <RiskLine risk={risk} hints={hintsOf(call, session.state.value)} />
      {denying.value
        ? <Denial call={call} at={at} choice={denying.value} back={() => void (denying.value = undefined)} />
        : <Answers key={version} call={call} at={at} edited={edited} denying={denying} isReadable={isReadable} isRisky={risk?.level === 'risky'} />}
    </Card>
  );
}

/** Which server's tool would be used; who decides must know where the input goes. */
function Source({call, session}: {call: Call; session: SessionState | undefined}) {
  const from = serverToolOf(call, session);
  if (!from) return null;
  return (
    <dl class="cards-source">
      <dt>{words.cards.server}</dt>
      <dd>{from.server === undefined ? words.cards.unlistedServer : <Spelled text={from.server} most={FEW} />}</dd>
      <dt>{words.cards.tool}</dt>
      <dd><Spelled text={from.tool} most={FEW} /></dd>
    </dl>
  );
}

/** A number that is another one when what would be allowed is: its buttons are then new, and dead for a moment. */
function useVersion(parts: readonly unknown[]): number {
  const last = useRef({parts, version: 0});
  if (parts.some((part, index) => part !== last.current.parts[index])) last.current = {parts, version: last.current.version + 1};
  return last.current.version;
}

function Input({call, edited, kept}: {call: Call; edited: Signal<string | undefined>; kept: Text | undefined}) {
  const input = inputOf(call);
  if (!input) return null;
  if (input.kind === 'kept') return <KeptInput text={kept} />;
  if (edited.value !== undefined) {
    return (
      <div class="cards-edit-input">
        <textarea
          class="cards-field mono"
          aria-label={words.cards.editInput}
          spellcheck={false}
          autocapitalize="off"
          value={edited.value}
          onInput={event => void (edited.value = event.currentTarget.value)}
        />
        {visible(edited.value) !== edited.value && <ExactText text={edited.value} />}
        <Button kind="quiet" onClick={() => void (edited.value = undefined)}>{words.cards.undoEdit}</Button>
      </div>
    );
  }
  return (
    <div class="cards-input">
      <ExactText text={call.contributor?.kind === 'mcp' ? indented(input.text) : input.text} label={call.contributor?.kind === 'mcp' ? words.cards.arguments : words.cards.input} />
      {isEditable(call) && (
        <ActButton kind="quiet" icon={Pencil} onClick={() => void (edited.value = input.text)}>{words.cards.edit}</ActButton>
      )}
    </div>
  );
}

function KeptInput({text}: {text: Text | undefined}) {
  if (text?.state === 'here') return <ExactText text={text.text} />;
  return <p class="cards-note">{text?.state === 'loading' ? words.cards.inputKept : words.cards.inputUnreadable}</p>;
}

interface AnswersProps {
  readonly call: Call;
  readonly at: CallRef;
  readonly edited: Signal<string | undefined>;
  readonly denying: Signal<Choice | undefined>;
  readonly isReadable: boolean;
  readonly isRisky: boolean;
}

/** The host's answers: deny left, approve right, the first of each side plainest and wider grants quieter. */
function Answers({call, at, edited, denying, isReadable, isRisky}: AnswersProps) {
  const store = useStore();
  const choices = choicesOf(call, {allow: words.cards.allow, deny: words.cards.deny});
  const isEdited = edited.value !== undefined && edited.value !== call.toolInput;
  const deny = (choice: Choice): void => {
    if (choice.wantsReason) denying.value = choice;
    else answerHere(store, at.chat, call.toolCallId, denial(at.turn, call, optionOf(choice)), 'deny');
  };
  const approve = (choice: Choice): void => {
    const changed = isEdited && edited.value !== undefined ? {editedInput: edited.value} : {};
    answerHere(store, at.chat, call.toolCallId, approval(at.turn, call, {...optionOf(choice), ...changed}), 'allow');
  };
  const approving = choices.approve.slice(0, isReadable ? (isEdited ? 1 : undefined) : 0);
  const number = numbering(call, choices);
  return (
    <div class="cards-answers">
      <div class="cards-side deny">
        {choices.deny.map((choice, index) => (
          <AnswerButton key={choice.id ?? ''} label={choice.label} kind={index ? 'quiet' : 'plain'} number={number(choice)} onClick={() => deny(choice)} />
        ))}
      </div>
      <div class="cards-side approve">
        {approving.map((choice, index) => (
          <AnswerButton
            // Another meaning is another button, which is dead for a moment.
            key={`${choice.id ?? ''} ${isEdited}`}
            label={isEdited ? words.cards.allowEdited : choice.label}
            kind={index ? 'quiet' : isRisky ? 'plain' : 'primary'}
            number={number(choice)}
            onClick={() => approve(choice)}
          />
        ))}
      </div>
    </div>
  );
}

const optionOf = (choice: Choice): {option?: string} => (choice.id === undefined ? {} : {option: choice.id});

/** The number of a choice: its place in the host's order; without one, approving comes first. */
function numbering(call: Call, choices: Choices): (choice: Choice) => number {
  const ids = call.options?.length ? call.options.map(option => option.id) : undefined;
  return choice => (ids ? ids.indexOf(choice.id ?? '') + 1 : choices.approve.includes(choice) ? 1 : 2);
}

/** A denial with a reason, and with what to do instead. */
function Denial({call, at, choice, back}: {call: Call; at: CallRef; choice: Choice; back: () => void}) {
  const store = useStore();
  const reason = useSignal('');
  const instead = useSignal('');
  const deny = (): void => {
    const said = {
      ...(reason.value.trim() ? {reason: reason.value.trim()} : {}),
      ...(instead.value.trim() ? {suggestion: instead.value.trim()} : {}),
    };
    answerHere(store, at.chat, call.toolCallId, denial(at.turn, call, {...optionOf(choice), ...said}), 'deny');
  };
  return (
    <div class="cards-denial">
      <label>
        <span>{words.cards.reason}</span>
        <input class="cards-field" placeholder={words.cards.reasonHint} value={reason} onInput={event => void (reason.value = event.currentTarget.value)} />
      </label>
      <label>
        <span>{words.cards.suggestion}</span>
        <input class="cards-field" placeholder={words.cards.suggestionHint} value={instead} onInput={event => void (instead.value = event.currentTarget.value)} />
      </label>
      <div class="cards-answers">
        <Button kind="quiet" onClick={back}>{words.cards.back}</Button>
        <AnswerButton label={choice.label} onClick={deny} />
      </div>
    </div>
  );
}
