/** Text that a tool gave. */
import type {ToolResultContent} from '../../ahp/index.ts';
import {Output} from '../../ansi/view.tsx';
import type {CallRef} from '../../ui/registry.tsx';
import {outputFold, useFold} from '../context.ts';

export function TextContent({content, at}: {content: ToolResultContent; at: CallRef}) {
  const isWhole = useFold(outputFold(at.turn, at.call, 'text'));
  return content.type === 'text' && content.text.trim() ? <div class="chat-content"><Output text={content.text} isWhole={isWhole} /></div> : null;
}
