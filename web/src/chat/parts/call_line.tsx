/** A tool call as one line, with its input and output behind it. */
import {ChevronDown, ChevronRight} from 'lucide';
import type {IconNode} from 'lucide';
import type {ComponentChildren} from 'preact';
import type {ToolCallState, ToolInput, ToolResultContent} from '../../ahp/index.ts';
import {Icon} from '../../ui/icon.tsx';
import {type CallRef, contentViews} from '../../ui/registry.tsx';
import {visible} from '../../ui/safe.tsx';
import {words} from '../../words/index.ts';
import {ToolKindContext, callFold, useFold} from '../context.ts';
import {toolKind} from '../rows.ts';
import {Referenced} from './referenced.tsx';

export interface CallLineProps {
  readonly at: CallRef;
  readonly call: ToolCallState;
  readonly icon: IconNode;
  readonly tone?: 'busy' | 'error' | 'quiet' | undefined;
  readonly title: ComponentChildren;
  /** At the end of the line: a time, a count. */
  readonly aside?: ComponentChildren;
  /** Always shown under the line. */
  readonly children?: ComponentChildren;
  readonly isOpen?: boolean | undefined;
}

export function CallLine({at, call, icon, tone, title, aside, children, isOpen: isOpenFirst = false}: CallLineProps) {
  const isOpen = useFold(callFold(at.turn, at.call), isOpenFirst);
  const input = 'toolInput' in call ? call.toolInput : undefined;
  const contents = ('content' in call ? call.content : undefined) ?? [];
  const shown = contents.filter(content => content.type !== 'subagent');
  const mayOpen = input !== undefined || shown.length > 0;
  const line = (
    <>
      <Icon of={icon} class={tone === 'busy' ? 'chat-arc' : undefined} />
      <span class="chat-call-title">{title}</span>
      {aside}
      {mayOpen && <Icon of={isOpen.value ? ChevronDown : ChevronRight} class="chat-call-chevron" />}
    </>
  );
  return (
    <div class={`chat-call ${tone ?? ''}`} role="group" aria-label={call.displayName}>
      {mayOpen ? (
        <button type="button" class="chat-line chat-fold" aria-expanded={isOpen.value} onClick={() => void (isOpen.value = !isOpen.value)}>{line}</button>
      ) : (
        <div class="chat-line">{line}</div>
      )}
      {children}
      {isOpen.value && (
        <div class="chat-call-details">
          {input !== undefined && <InputView input={input} />}
          <ToolKindContext.Provider value={toolKind(call)}><Contents contents={shown} at={at} /></ToolKindContext.Provider>
        </div>
      )}
    </div>
  );
}

/** What a tool gave, each by its type. */
export function Contents({contents, at}: {contents: readonly ToolResultContent[]; at: CallRef}) {
  return (
    <>
      {contents.map((content, index) => {
        const View = contentViews.get(content.type);
        return <View key={index} content={content} at={at} />;
      })}
    </>
  );
}

// Of what a tool was given this much is shown.
const MOST_INPUT = 20_000;

function InputView({input}: {input: ToolInput}) {
  if (typeof input !== 'string') return <Referenced reference={input} label={words.chat.input} />;
  const text = pretty(input);
  return (
    <pre class="chat-input" tabIndex={0} role="group" aria-label={words.chat.input}>
      {visible(text.slice(0, MOST_INPUT))}
      {text.length > MOST_INPUT && `\n${words.chat.moreText(text.length - MOST_INPUT)}`}
    </pre>
  );
}

/** JSON on lines of its own; other text as it is. */
function pretty(input: string): string {
  if (!/^\s*[{[]/.test(input) || input.length > MOST_INPUT) return input;
  try {
    return JSON.stringify(JSON.parse(input), null, 2);
  } catch {
    return input;
  }
}
