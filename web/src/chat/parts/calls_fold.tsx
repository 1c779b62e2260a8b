/** Calls in a row that went well, as one line that opens. */
import {ChevronDown, ChevronRight} from 'lucide';
import {Icon} from '../../ui/icon.tsx';
import {words} from '../../words/index.ts';
import {useTranscript} from '../context.ts';
import type {CallsRow} from '../rows.ts';

export function CallsFold({row}: {row: CallsRow}) {
  const folds = useTranscript()?.folds;
  return (
    <button type="button" class="chat-line chat-fold" aria-expanded={row.isOpen} onClick={() => folds?.toggleRows(row.key)}>
      <Icon of={row.isOpen ? ChevronDown : ChevronRight} />
      <span>{words.chat.folded(row.counts)}</span>
    </button>
  );
}
