/** The line under a turn that is under way. */
import {LoaderCircle} from 'lucide';
import {Icon} from '../../ui/icon.tsx';
import {visible} from '../../ui/safe.tsx';
import {words} from '../../words/index.ts';
import type {WorkingRow} from '../rows.ts';
import {Elapsed} from './elapsed.tsx';

export function WorkingLine({row}: {row: WorkingRow}) {
  if (row.isWaiting) {
    return <p class="chat-line chat-working waiting"><span class="chat-mark waiting" /><span>{words.chat.waiting}</span></p>;
  }
  return (
    <p class="chat-line chat-working">
      <Icon of={LoaderCircle} class="chat-arc" />
      <span class="chat-activity">{row.activity === undefined ? words.chat.working : visible(row.activity)}</span>
      <Elapsed since={row.startedAt} />
    </p>
  );
}
