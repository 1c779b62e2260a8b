/** One session in the list. */
import {BellOff, Ellipsis} from 'lucide';
import {Component} from 'preact';
import {useRef, useState} from 'preact/hooks';
import {Button} from '../ui/button.tsx';
import {Icon} from '../ui/icon.tsx';
import {visible} from '../ui/safe.tsx';
import {age} from '../ui/time.ts';
import {To} from '../ui/to.tsx';
import {words} from '../words/index.ts';
import type {KeptRow} from './freeze.ts';
import {Rename} from './rename.tsx';
import {RowAsk} from './row_ask.tsx';
import {RowMenu} from './row_menu.tsx';
import {StatusGlyph, statusOf} from './status_glyph.tsx';

interface RowProps {
  readonly row: KeptRow;
  readonly current: boolean;
}

/** A row, drawn again only when something about it changed. */
export class SessionRow extends Component<RowProps> {
  override shouldComponentUpdate(next: RowProps): boolean {
    return next.row !== this.props.row || next.current !== this.props.current;
  }

  override render() {
    return <RowView {...this.props} />;
  }
}

/** What the session is called, what it does, and what it waits for. */
function RowView({row, current}: RowProps) {
  const [open, setOpen] = useState<'menu' | 'rename'>();
  const close = (): void => setOpen(undefined);
  const anchor = useRef<HTMLButtonElement>(null);
  const title = visible(row.title) || words.sessions.untitled;
  return (
    <li class={classOf(row, current)} data-session={row.uri}>
      <div class="sessions-row-top">
        <To class="sessions-link" route={{at: 'session', session: row.uri}} current={current}>
          <StatusGlyph status={statusOf(row)} />
          <span class="sessions-title" title={title}>{title}</span>
          {row.muted && <Icon of={BellOff} size={12} label={words.sessions.status.muted} />}
          <time class="sessions-time" dateTime={new Date(row.modified).toISOString()}>{age(row.ask?.since ?? row.modified)}</time>
          {!row.ask && <span class="sessions-doing">{doing(row)}</span>}
          {!row.ask && <Changed row={row} />}
        </To>
        <Button
          kind="quiet"
          class="sessions-more"
          icon={Ellipsis}
          label={words.sessions.menu(title)}
          popup="menu"
          expanded={open === 'menu'}
          buttonRef={anchor}
          onClick={() => setOpen(open ? undefined : 'menu')}
        />
      </div>
      {/* Another request is another answer: what was pressed for the one before says nothing of it. */}
      {row.ask && <RowAsk key={`${row.ask.chat} ${row.ask.id}`} session={row.uri} title={title} ask={row.ask} settled={row.settled} />}
      {open === 'menu' && <RowMenu row={row} title={title} anchor={anchor} onClose={close} onRename={() => setOpen('rename')} />}
      {open === 'rename' && <Rename row={row} onClose={close} />}
    </li>
  );
}

function classOf(row: KeptRow, current: boolean): string {
  return ['sessions-row', current && 'current', row.unread && 'unread', row.ask && 'needs', row.gone && 'gone'].filter(Boolean).join(' ');
}

function doing(row: KeptRow): string {
  if (row.gone) return words.sessions.gone;
  const status = words.sessions.status;
  const word = row.activity === 'idle' ? '' : status[row.activity];
  return visible(row.doing ?? '') || word || visible(row.provider);
}

function Changed({row}: {row: KeptRow}) {
  if (!row.additions && !row.deletions) return null;
  return (
    <span class="sessions-changed">
      <span class="hidden-text">{words.sessions.changed(row.additions, row.deletions)}</span>
      {row.additions > 0 && <span class="added" aria-hidden="true">+{row.additions}</span>}
      {row.deletions > 0 && <span class="removed" aria-hidden="true">−{row.deletions}</span>}
    </span>
  );
}
