/** What comes back into a box: a message that did not arrive, a draft from another window. */
import type {Signal} from '@preact/signals';
import {useEffect} from 'preact/hooks';
import type {Act} from '../store/index.ts';
import {Button} from '../ui/button.tsx';
import {Outcome} from '../ui/outcome.tsx';
import {words} from '../words/index.ts';
import type {Draft} from './draft_sync.ts';
import type {OpenDraft} from './use_draft.ts';

/** What was sent last, until it is known to have arrived. */
export interface Sent {
  readonly act: Act;
  readonly draft: Draft;
}

/** What did not arrive: it comes back into an empty box by itself. */
export function Returned({last, draft}: {last: Signal<Sent | undefined>; draft: OpenDraft}) {
  const sent = last.value;
  const phase = sent?.act.phase.value;
  const failed = phase === 'refused' || phase === 'notSent';
  useEffect(() => {
    if (failed && sent && draft.isEmpty.peek()) {
      draft.fill(sent.draft);
    }
  }, [failed, sent]);
  if (!sent || (!failed && phase !== 'uncertain')) return null;
  // Drawn again when the box is filled: what is back in it is not offered once more.
  void draft.isEmpty.value;
  const isBack = draft.draft.text === sent.draft.text;
  return (
    <div class="composer-returned">
      <Outcome act={sent.act} />
      {!isBack && <p class="composer-lost">{sent.draft.text}</p>}
      {!isBack && <Button onClick={() => draft.fill(sent.draft)}>{words.composer.putBack}</Button>}
    </div>
  );
}

/** A draft of another window, to be used or not. */
export function Offered({draft}: {draft: OpenDraft}) {
  if (!draft.offered.value) return null;
  return (
    <div class="composer-ask" role="status">
      <span>{words.composer.draftChanged}</span>
      <Button kind="quiet" onClick={() => draft.dismiss()}>{words.composer.keepMine}</Button>
      <Button onClick={() => draft.use()}>{words.composer.useIt}</Button>
    </div>
  );
}
