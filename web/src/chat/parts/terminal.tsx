/** A terminal that a tool used: its last lines while it runs, what it printed, and the way to it. */
import {SquareTerminal} from 'lucide';
import type {ToolResultContent} from '../../ahp/index.ts';
import {printed} from '../../ahp/scrollback.ts';
import {Output, Tail} from '../../ansi/view.tsx';
import {route} from '../../route.ts';
import {useFollowed, useStore} from '../../store/index.ts';
import {Icon} from '../../ui/icon.tsx';
import type {CallRef, ChatRef} from '../../ui/registry.tsx';
import {To} from '../../ui/to.tsx';
import {words} from '../../words/index.ts';
import {outputFold, useFold} from '../context.ts';

/** A link to a terminal in the workspace. */
export function OpenTerminal({at, uri}: {at: ChatRef; uri: string}) {
  const here = route.value;
  const base = here.at === 'session' ? here : {at: 'session' as const, session: at.session, chat: at.chat};
  return (
    <To route={{...base, panel: 'terminals', file: uri, line: undefined}} class="chat-to">
      <Icon of={SquareTerminal} />{words.chat.openTerminal}
    </To>
  );
}

/** The last lines of a terminal, as it prints them. */
export function TerminalTail({uri}: {uri: string}) {
  const store = useStore();
  const followed = useFollowed(() => store.channel('terminal', uri), [uri]);
  const state = followed.state.value;
  // The last parts have the last lines.
  return <Tail text={state ? printed({...state, content: state.content.slice(-3)}) : ''} />;
}

export function TerminalContent({content, at}: {content: ToolResultContent; at: CallRef}) {
  const isWhole = useFold(outputFold(at.turn, at.call, 'terminal'));
  if (content.type !== 'terminal') return null;
  const {result} = content;
  return (
    <div class="chat-content">
      {result?.truncated && <p class="chat-call-note">{words.chat.outputCut}</p>}
      {result?.preview && <Output text={result.preview} isWhole={isWhole} tail />}
      {result === undefined && <TerminalTail uri={content.resource} />}
      <p class="chat-line">
        {result?.exitCode !== undefined && <span class={result.exitCode ? 'chat-exit bad' : 'chat-exit'}>{words.chat.exitCode(result.exitCode)}</span>}
        <OpenTerminal at={at} uri={content.resource} />
      </p>
    </div>
  );
}
