/** Tool calls for which nobody is asked: being prepared, running, over, or called off. */
import {Bot, Ban, Eye, FilePen, LoaderCircle, type IconNode, OctagonX, Search, SquareTerminal, Wrench} from 'lucide';
import type {ResponsePart, ToolCallCancelledState, ToolCallCompletedState, ToolCallRunningState, ToolCallState, ToolCallStreamingState, ToolResultContent} from '../../ahp/index.ts';
import {Tail} from '../../ansi/view.tsx';
import {CallNote} from '../../cards/call_note.tsx';
import {type CallRef, type PartRef, callViews} from '../../ui/registry.tsx';
import {visible} from '../../ui/safe.tsx';
import {words} from '../../words/index.ts';
import {toolKind} from '../rows.ts';
import {CallLine} from './call_line.tsx';
import {Elapsed} from './elapsed.tsx';
import {Said, saidText} from './said.tsx';
import {EditCounts} from './file_edit.tsx';
import {OpenTerminal, TerminalTail} from './terminal.tsx';
import {WorkerLine} from './worker.tsx';

/** A tool call, shown by its status. */
export function ToolCallPart({part, at}: {part: ResponsePart; at: PartRef}) {
  if (part.kind !== 'toolCall') return null;
  const call = part.toolCall;
  const View = callViews.get(call.status);
  const ref = {...at, call: call.toolCallId};
  return (
    <>
      <View call={call} at={ref} />
      <CallNote call={call} at={ref} />
    </>
  );
}

interface CallProps {
  readonly call: ToolCallState;
  readonly at: CallRef;
}

const ICONS: Readonly<Record<string, IconNode>> = {read: Eye, search: Search, terminal: SquareTerminal, subagent: Bot, edit: FilePen};

function iconOf(call: ToolCallState): IconNode {
  const contents = contentsOf(call);
  const has = (type: string): boolean => contents.some(content => content.type === type);
  const kind = has('fileEdit') ? 'edit' : has('subagent') ? 'subagent' : toolKind(call) ?? '';
  return Object.hasOwn(ICONS, kind) ? (ICONS[kind] ?? Wrench) : Wrench;
}

const contentsOf = (call: ToolCallState): readonly ToolResultContent[] => ('content' in call ? call.content : undefined) ?? [];

/** Its input is still being written. */
export function StreamingCall({call, at}: CallProps) {
  const {partialInput, invocationMessage} = call as ToolCallStreamingState;
  const lastLine = partialInput?.slice(-400).trimEnd().split('\n').at(-1) ?? '';
  return (
    <CallLine at={at} call={call} icon={LoaderCircle} tone="busy" title={invocationMessage === undefined ? words.chat.preparing(call.displayName) : <Said of={invocationMessage} />}>
      <p class="chat-partial">{visible(lastLine)}</p>
    </CallLine>
  );
}

/** When calls began to run, as this page saw it: their states do not say. */
const starts = new Map<string, number>();

function startOf(at: CallRef): number {
  const key = `${at.chat} ${at.turn} ${at.call}`;
  const known = starts.get(key) ?? Date.now();
  if (starts.size > 2000) starts.clear();
  starts.set(key, known);
  return known;
}

export function RunningCall({call, at}: CallProps) {
  const {invocationMessage} = call as ToolCallRunningState;
  const contents = contentsOf(call);
  const terminal = contents.find(content => content.type === 'terminal');
  const text = contents.findLast(content => content.type === 'text');
  return (
    <CallLine at={at} call={call} icon={LoaderCircle} tone="busy" title={<Said of={invocationMessage} />} aside={<Elapsed since={startOf(at)} />}>
      {terminal?.type === 'terminal' ? (
        <div class="chat-call-live">
          <TerminalTail uri={terminal.resource} />
          <OpenTerminal at={at} uri={terminal.resource} />
        </div>
      ) : (
        text?.type === 'text' && <div class="chat-call-live"><Tail text={text.text} /></div>
      )}
      <Workers call={call} at={at} />
    </CallLine>
  );
}

export function CompletedCall({call, at}: CallProps) {
  const done = call as ToolCallCompletedState;
  const title = <><Said of={saidText(done.pastTenseMessage) ? done.pastTenseMessage : call.displayName} /><Command call={done} /></>;
  const edits = contentsOf(call).filter(content => content.type === 'fileEdit');
  const aside = edits.length ? <EditCounts edits={edits} /> : undefined;
  if (done.success) {
    return (
      <CallLine at={at} call={call} icon={iconOf(call)} title={title} aside={aside}>
        <Workers call={call} at={at} />
      </CallLine>
    );
  }
  const error = done.error?.message.trim().split('\n', 1)[0];
  return (
    <CallLine at={at} call={call} icon={OctagonX} tone="error" title={title} aside={aside}>
      {error && <p class="chat-call-error">{visible(error.slice(0, 1000))}</p>}
      <Workers call={call} at={at} />
    </CallLine>
  );
}

/** The command that was run, where the line does not have it already. */
function Command({call}: {call: ToolCallCompletedState}) {
  const {toolInput} = call;
  if (toolKind(call) !== 'terminal' || typeof toolInput !== 'string' || saidText(call.pastTenseMessage).includes(toolInput.trim())) return null;
  return <code>{visible(toolInput.trim().split('\n', 1)[0]?.slice(0, 200) ?? '')}</code>;
}

export function CancelledCall({call, at}: CallProps) {
  const {reason, reasonMessage, userSuggestion, invocationMessage} = call as ToolCallCancelledState;
  const why = reason === 'skipped' ? words.chat.skipped : reason === 'result-denied' ? words.chat.discarded : words.chat.denied;
  return (
    <CallLine at={at} call={call} icon={Ban} tone="quiet" title={<><strong>{why}</strong> <Said of={invocationMessage} /></>}>
      {reasonMessage !== undefined && <p class="chat-call-note"><Said of={reasonMessage} /></p>}
      {userSuggestion?.text && <p class="chat-call-note">{words.chat.instead(visible(userSuggestion.text.slice(0, 1000)))}</p>}
    </CallLine>
  );
}

/** The workers that a call started, each as a live line. */
function Workers({call, at}: CallProps) {
  const workers = contentsOf(call).filter(content => content.type === 'subagent');
  return <>{workers.map((worker, index) => worker.type === 'subagent' && <WorkerLine key={index} worker={worker} at={at} />)}</>;
}
