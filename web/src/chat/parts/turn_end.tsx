/** The end of a turn: how it ended, what it took, and what can be done from there. */
import {clockTime, duration} from '../../ui/time.ts';
import {words} from '../../words/index.ts';
import type {EndRow} from '../rows.ts';

export function TurnEnd({row}: {row: EndRow}) {
  const {of: turn} = row;
  return (
    <footer class="chat-turn-end">
      {turn.state === 'cancelled' && <span class="chat-stopped">{words.chat.stopped}</span>}
      {turn.startedAt && <time dateTime={turn.startedAt}>{clockTime(turn.startedAt)}</time>}
      {turn.duration !== undefined && <span>{duration(turn.duration)}</span>}
    </footer>
  );
}
