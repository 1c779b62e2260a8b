/** One row of a transcript. It is drawn again only when it is another row. */
import {Component, type ComponentChild} from 'preact';
import {useMemo} from 'preact/hooks';
import {StreamedMarkdown} from '../markdown/stream.ts';
import {Blocks} from '../markdown/view.tsx';
import {partViews} from '../ui/registry.tsx';
import {words} from '../words/index.ts';
import {useTranscript} from './context.ts';
import {CallsFold} from './parts/calls_fold.tsx';
import {MessageView} from './parts/message.tsx';
import {TurnEnd} from './parts/turn_end.tsx';
import {WorkingLine} from './parts/working.tsx';
import type {PartRow, Row, TextRow} from './rows.ts';

export class RowView extends Component<{row: Row}> {
  override shouldComponentUpdate(next: {row: Row}): boolean {
    return next.row !== this.props.row;
  }

  override render() {
    const {row} = this.props;
    return <div role="article" class={`chat-row chat-row-${row.kind}`} data-turn={row.turn}>{rowContent(row)}</div>;
  }
}

function rowContent(row: Row): ComponentChild {
  switch (row.kind) {
    case 'older': return <p class="chat-note">{words.chat.loadingOlder}</p>;
    case 'message': return <MessageView row={row} />;
    case 'text': return <TextView row={row} />;
    case 'part': return <PartView row={row} />;
    case 'calls': return <CallsFold row={row} />;
    case 'end': return <TurnEnd row={row} />;
    case 'working': return <WorkingLine row={row} />;
  }
}

function TextView({row}: {row: TextRow}) {
  const stream = useMemo(() => row.stream ?? StreamedMarkdown.of(row.part.content), [row.stream, row.stream ? '' : row.part.content]);
  const closed = stream.section(row.section);
  return <Blocks blocks={row.isLast ? [...closed, ...stream.open] : closed} stream={stream} />;
}

function PartView({row}: {row: PartRow}) {
  const at = useTranscript()?.at;
  if (!at) return null;
  const View = partViews.get(row.part.kind);
  return (
    <div class={row.isInside ? 'chat-inside' : undefined}>
      <View part={row.part} at={{...at, turn: row.turn, index: row.index}} running={row.running} />
    </div>
  );
}
