/** What a session is doing, as a shape and a word: colour alone says nothing. */
import {words} from '../words/index.ts';
import type {Row} from './list_model.ts';

type Status = keyof typeof words.sessions.status;

/** The one status that a row's glyph shows. */
export function statusOf(row: Pick<Row, 'activity' | 'unread' | 'archived'>): Status {
  if (row.activity !== 'idle') return row.activity;
  if (row.archived) return 'archived';
  return row.unread ? 'unread' : 'idle';
}

/** A diamond needs you, an arc works, an octagon failed, a dot is unread, a box is archived. */
export function StatusGlyph({status}: {status: Status}) {
  return (
    <span class={`sessions-glyph ${status}`}>
      <svg width="14" height="14" viewBox="0 0 14 14" aria-hidden="true">
        <Shape status={status} />
      </svg>
      <span class="hidden-text">{words.sessions.status[status]}</span>
    </span>
  );
}

function Shape({status}: {status: Status}) {
  switch (status) {
    case 'needs':
      return <path d="M7 0.8 13.2 7 7 13.2 0.8 7Z" fill="currentColor" />;
    case 'working':
      return <path d="M7 1.8a5.2 5.2 0 1 1-5.2 5.2" fill="none" stroke="currentColor" stroke-width="2.2" stroke-linecap="round" />;
    case 'error':
      return <path d="M4.3 0.8h5.4l3.5 3.5v5.4l-3.5 3.5H4.3L0.8 9.7V4.3Z" fill="currentColor" />;
    case 'unread':
      return <circle cx="7" cy="7" r="4" fill="currentColor" />;
    case 'archived':
      return <path d="M2 3h10v2.4H2Zm0.8 2.4h8.4V11H2.8Z" fill="none" stroke="currentColor" stroke-width="1.3" stroke-linejoin="round" />;
    default:
      return <circle cx="7" cy="7" r="3.2" fill="none" stroke="currentColor" stroke-width="1.3" />;
  }
}
