/** Text that a tool gave. */
import {useContext} from 'preact/hooks';
import type {ToolResultContent} from '../../ahp/index.ts';
import {Output} from '../../ansi/view.tsx';
import type {CallRef} from '../../ui/registry.tsx';
import {ToolKindContext, outputFold, useFold} from '../context.ts';

export function TextContent({content, at}: {content: ToolResultContent; at: CallRef}) {
  const isWhole = useFold(outputFold(at.turn, at.call, 'text'));
  // The end of what a command prints says what came of it.
  const isCommand = useContext(ToolKindContext) === 'terminal';
  return content.type === 'text' && content.text.trim() ? <div class="chat-content"><Output text={content.text} isWhole={isWhole} tail={isCommand} /></div> : null;
}
