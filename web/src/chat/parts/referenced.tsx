/** Content that a part or a tool only refers to, or brings along: pictures, text, or a name. */
import {useMemo} from 'preact/hooks';
import type {ContentRef, ResponsePart, ToolResultContent} from '../../ahp/index.ts';
import {contentName} from '../../ahp/uris.ts';
import {Output} from '../../ansi/view.tsx';
import {Button} from '../../ui/button.tsx';
import type {CallRef, PartRef} from '../../ui/registry.tsx';
import {Link, visible} from '../../ui/safe.tsx';
import {Skeleton} from '../../ui/skeleton.tsx';
import {words} from '../../words/index.ts';
import {useFold} from '../context.ts';
import {Image, isImage} from './image.tsx';
import {type Content, bytesContent, useContent} from './use_content.ts';

/** A reference by its name; its content is read when somebody wants it, a picture at once. */
export function Referenced({reference, label}: {reference: ContentRef; label?: string | undefined}) {
  const isOpen = useFold(`content ${reference.uri}`, isImage(reference.contentType));
  const name = visible(contentName(reference.uri) ?? reference.uri).slice(0, 200);
  return (
    <div class="chat-content">
      <p class="chat-line">
        <span>{label ?? words.chat.resource}</span>
        {reference.uri.startsWith('ahp-content:') ? <code>{name}</code> : <Link href={reference.uri} text={name} />}
        {!isOpen.value && <Button kind="quiet" onClick={() => void (isOpen.value = true)}>{words.chat.loadContent}</Button>}
      </p>
      {isOpen.value && <Loaded reference={reference} name={name} />}
    </div>
  );
}

function Loaded({reference, name}: {reference: ContentRef; name: string}) {
  const content = useContent(reference, isImage(reference.contentType) ? 'base64' : 'utf-8').value;
  return <ContentView content={content} type={reference.contentType} name={name} />;
}

function ContentView({content, type, name}: {content: Content; type: string | undefined; name: string}) {
  const isWhole = useFold(`whole ${name}`);
  switch (content.state) {
    case 'loading': return <Skeleton lines={3} />;
    case 'tooLarge': return <p class="chat-call-note">{words.chat.imageTooLarge}</p>;
    case 'here': return <Output text={content.text} isWhole={isWhole} />;
    case 'bytes': {
      const known = content.type ?? type;
      return known && isImage(known) ? <Image bytes={content.bytes} type={known} label={name} /> : <p class="chat-call-note">{known ?? words.chat.contentUnavailable}</p>;
    }
    default: return <p class="chat-call-note">{words.chat.contentUnavailable}</p>;
  }
}

/** A part that refers to content. */
export function ContentRefPart({part}: {part: ResponsePart; at: PartRef}) {
  return part.kind === 'contentRef' ? <Referenced reference={part} /> : null;
}

export function ResourceContent({content}: {content: ToolResultContent; at: CallRef}) {
  return content.type === 'resource' ? <Referenced reference={content} /> : null;
}

/** Content that came along as base64. */
export function EmbeddedContent({content}: {content: ToolResultContent; at: CallRef}) {
  const [data, type] = content.type === 'embeddedResource' ? [content.data, content.contentType] : ['', undefined];
  const held = useMemo(() => asText(bytesContent(data, type)), [data, type]);
  return <div class="chat-content"><ContentView content={held} type={type} name={type ?? words.chat.resource} /></div>;
}

const TEXT = /^(?:text\/|application\/(?:json|xml|javascript|x-sh))/;

function asText(content: Content): Content {
  if (content.state !== 'bytes' || !TEXT.test(content.type ?? '')) return content;
  return {state: 'here', text: new TextDecoder().decode(content.bytes)};
}
