/** Registers the views of response parts, of calls that nobody waits for, and of what tools give. */
import {callViews, contentViews, partViews} from '../../ui/registry.tsx';
import {CancelledCall, CompletedCall, RunningCall, StreamingCall, ToolCallPart} from './calls.tsx';
import {FileEditContent} from './file_edit.tsx';
import {NoticePart} from './notice.tsx';
import {ReasoningPart} from './reasoning.tsx';
import {ContentRefPart, EmbeddedContent, ResourceContent} from './referenced.tsx';
import {TerminalContent} from './terminal.tsx';
import {TextContent} from './text_content.tsx';
import {WorkerContent} from './worker.tsx';

partViews.set('toolCall', ToolCallPart);
partViews.set('reasoning', ReasoningPart);
partViews.set('systemNotification', NoticePart);
partViews.set('contentRef', ContentRefPart);

callViews.set('streaming', StreamingCall);
callViews.set('running', RunningCall);
callViews.set('completed', CompletedCall);
callViews.set('cancelled', CancelledCall);

contentViews.set('text', TextContent);
contentViews.set('terminal', TerminalContent);
contentViews.set('fileEdit', FileEditContent);
contentViews.set('resource', ResourceContent);
contentViews.set('embeddedResource', EmbeddedContent);
contentViews.set('subagent', WorkerContent);
