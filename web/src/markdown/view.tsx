/** Markdown as elements, block by block; a block that has not changed is not drawn again. */
import './markdown.css';
import {type Signal, signal} from '@preact/signals';
import type {Links, Token, Tokens} from 'marked';
import {Component, type ComponentChild} from 'preact';
import {useMemo} from 'preact/hooks';
import {Button} from '../ui/button.tsx';
import {words} from '../words/index.ts';
import {Code} from './code.tsx';
import {Inline, NO_LINKS} from './inline.tsx';
import {type Block, INLINE_MOST} from './lex.ts';
import {StreamedMarkdown, WHOLE_MOST} from './stream.ts';

/** Markdown that is complete and not long, as in notices and questions. */
export function Markdown({text}: {text: string}) {
  const stream = useMemo(() => StreamedMarkdown.of(text), [text]);
  return <Blocks blocks={stream.blocks} stream={stream} />;
}

/** Blocks of a stream. */
export function Blocks({blocks, stream}: {blocks: readonly Block[]; stream: StreamedMarkdown}) {
  return <div class="md">{blocks.map(block => <BlockView key={block.id} block={block} stream={stream} isOpen={stream.open.includes(block)} />)}</div>;
}

interface BlockProps {
  readonly block: Block;
  readonly stream: StreamedMarkdown;
  readonly isOpen: boolean;
}

class BlockView extends Component<BlockProps> {
  override shouldComponentUpdate(next: BlockProps): boolean {
    return next.block !== this.props.block || next.isOpen !== this.props.isOpen;
  }

  override render() {
    const {block, stream, isOpen} = this.props;
    if (block.token) return blockView(block.token, stream.links, isOpen, 0);
    return <PlainBlock block={block} stream={stream} isOpen={isOpen} />;
  }
}

// The page's own heading is the first.
const HEADINGS = ['h2', 'h3', 'h4', 'h5', 'h6', 'h6'] as const;

function blockView(token: Token, links: Links, isOpen: boolean, key: number): ComponentChild {
  switch (token.type) {
    case 'space':
    case 'def':
    case 'checkbox': return null;
    case 'paragraph': return <Paragraph key={key} text={(token as Tokens.Paragraph).text} links={links} />;
    case 'text': return <Formatted key={key} text={(token as Tokens.Text).text} links={links} />;
    case 'heading': {
      const Heading = HEADINGS[(token as Tokens.Heading).depth - 1] ?? 'h6';
      return <Heading key={key} class={`md-h${(token as Tokens.Heading).depth}`}><Formatted text={(token as Tokens.Heading).text} links={links} /></Heading>;
    }
    case 'code': return <Code key={key} text={(token as Tokens.Code).text} lang={(token as Tokens.Code).lang ?? ''} isOpen={isOpen} />;
    case 'blockquote': return <blockquote key={key}>{((token as Tokens.Blockquote).tokens ?? []).map((each, at) => blockView(each, links, isOpen, at))}</blockquote>;
    case 'list': return <List key={key} list={token as Tokens.List} links={links} isOpen={isOpen} />;
    case 'table': return <Table key={key} table={token as Tokens.Table} links={links} />;
    case 'hr': return <hr key={key} />;
    default: return <p key={key} class="md-raw">{token.raw}</p>;
  }
}

function Paragraph({text, links}: {text: string; links: Links}) {
  return <p><Formatted text={text} links={links} /></p>;
}

/** Inline text; a long one stays as it is until somebody wants it formatted. */
function Formatted({text, links}: {text: string; links: Links}) {
  const isAsked = useMemo(() => signal(false), []);
  if (text.length <= INLINE_MOST) return <Inline text={text} links={links} />;
  if (!isAsked.value) return <>{text} {text.length <= WHOLE_MOST && <FormatButton onClick={() => void (isAsked.value = true)} />}</>;
  return <>{pieces(text).map((piece, at) => <Inline key={at} text={piece} links={links} />)}</>;
}

const pieces = (text: string): string[] => Array.from({length: Math.ceil(text.length / INLINE_MOST)}, (_, at) => text.slice(at * INLINE_MOST, (at + 1) * INLINE_MOST));

const FormatButton = ({onClick}: {onClick: () => void}) => (
  <Button kind="quiet" class="md-format" label={`${words.markdown.format}: ${words.markdown.formatWhy}`} onClick={onClick}>{words.markdown.format}</Button>
);

const TASK = /^\[[ xX]\][ \t]+/;

function List({list, links, isOpen}: {list: Tokens.List; links: Links; isOpen: boolean}) {
  const items = list.items.map((item, index) => (
    <li key={index} class={item.task ? 'md-task' : undefined}>
      {item.task && <input type="checkbox" disabled checked={item.checked === true} aria-label={item.checked ? words.markdown.done : words.markdown.notDone} />}
      {item.tokens.map((token, at) => blockView(item.task && at === 0 ? withoutBox(token) : token, links, isOpen, at))}
    </li>
  ));
  return list.ordered ? <ol start={typeof list.start === 'number' ? list.start : 1}>{items}</ol> : <ul>{items}</ul>;
}

const withoutBox = (token: Token): Token => ('text' in token ? ({...token, text: String(token['text']).replace(TASK, '')} as Token) : token);

function Table({table, links}: {table: Tokens.Table; links: Links}) {
  const cell = (each: Tokens.TableCell): ComponentChild => <Formatted text={each.text} links={links} />;
  return (
    <div class="md-table" role="group" aria-label={words.markdown.table} tabIndex={0}>
      <table>
        <thead><tr>{table.header.map((each, at) => <th key={at} class={align(each)}>{cell(each)}</th>)}</tr></thead>
        <tbody>{table.rows.map((row, index) => <tr key={index}>{row.map((each, at) => <td key={at} class={align(each)}>{cell(each)}</td>)}</tr>)}</tbody>
      </table>
    </div>
  );
}

const align = (cell: Tokens.TableCell): string | undefined => (cell.align ? `md-${cell.align}` : undefined);

// Which long texts of a stream somebody wants formatted, by group.
const asked = new WeakMap<StreamedMarkdown, Signal<ReadonlySet<number>>>();

function askedOf(stream: StreamedMarkdown): Signal<ReadonlySet<number>> {
  const known = asked.get(stream) ?? signal<ReadonlySet<number>>(new Set());
  asked.set(stream, known);
  return known;
}

/** A piece of a text that was too long to format as it came. */
function PlainBlock({block, stream, isOpen}: BlockProps) {
  const wanted = askedOf(stream);
  const {group, as, lang, isFirst} = block.plain ?? {group: -1, as: 'text', isFirst: true};
  if (as === 'code') return <Code text={block.raw} lang={lang ?? ''} isOpen={isOpen} whole={() => stream.groupText(group)} isFirst={isFirst} isPiece />;
  const className = isFirst ? 'md-plain' : 'md-plain md-goes-on';
  if (wanted.value.has(group)) return <div class={className}><Inline text={block.raw} links={NO_LINKS} /></div>;
  const mayFormat = isFirst && !isOpen && stream.groupText(group).length <= WHOLE_MOST;
  return (
    <div class={className}>
      {mayFormat && <FormatButton onClick={() => void (wanted.value = new Set([...wanted.value, group]))} />}
      {block.raw}
    </div>
  );
}
