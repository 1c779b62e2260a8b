/** One note: where it stands, what was said, and what can be done with it. */
import {Check, Paperclip, RotateCcw, Trash2, X} from 'lucide';
import {useState} from 'preact/hooks';
import type {Annotation, StateAction, StringOrMarkdown} from '../../ahp/index.ts';
import {Markdown} from '../../markdown/view.tsx';
import type {Act} from '../../store/index.ts';
import {ActButton, Button} from '../../ui/button.tsx';
import {newId} from '../../ui/ids.ts';
import {Outcome} from '../../ui/outcome.tsx';
import {visible} from '../../ui/safe.tsx';
import {toast} from '../../ui/toast.tsx';
import {words} from '../../words/index.ts';
import {plainText} from '../changes/catalogue.ts';
import {nameOf} from '../files/paths.ts';
import {attachToMessage} from './attach.ts';
import {NoteForm} from './form.tsx';
import {entryRemoved, linesOf, noteAttachment, noteRemoved, noteReplied, noteResolved} from './model.ts';
import type {Notes} from './use_notes.ts';
import './notes.css';

// Characters of one entry that are shown at once.
const MOST_SHOWN = 4_000;

export interface NoteThreadProps {
  readonly note: Annotation;
  readonly notes: Notes;
  readonly chat: string;
}

/** Where a note stands, short: the file's name and the lines. */
export function placeText({resource, range}: Annotation): string {
  const lines = linesOf(range);
  return lines ? words.workspace.notes.at(visible(nameOf(resource)), lines.from, lines.to) : visible(nameOf(resource));
}

export function NoteThread({note, notes, chat}: NoteThreadProps) {
  const said = words.workspace.notes;
  const [isReplying, setReplying] = useState(false);
  const act = (action: StateAction): Act => notes.act(note.id, action);
  const attach = (): void => {
    attachToMessage(chat, noteAttachment(notes.channel, [note], placeText(note)));
    toast(said.attached);
  };
  const remove = (): void => {
    act(noteRemoved(note.id));
    toast(said.removed, {undo: () => void act({type: 'annotations/set', annotation: {...note, resolved: false}})});
  };
  return (
    <div class={note.resolved ? 'notes-thread resolved' : 'notes-thread'} role="group" aria-label={said.noteOn(placeText(note))}>
      {note.entries.map((entry, index) => <Entry key={entry.id} text={entry.text} onRemove={index > 0 ? () => act(entryRemoved(note, entry.id)) : undefined} />)}
      <div class="notes-actions">
        <Button kind="quiet" icon={Paperclip} onClick={attach}>{said.attach}</Button>
        {!isReplying && <ActButton kind="quiet" onClick={() => setReplying(true)}>{said.reply}</ActButton>}
        <ActButton kind="quiet" icon={note.resolved ? RotateCcw : Check} onClick={() => act(noteResolved(note.id, !note.resolved))}>{note.resolved ? said.reopen : said.resolve}</ActButton>
        <ActButton kind="quiet" icon={Trash2} label={said.remove} onClick={remove} />
      </div>
      {isReplying && (
        <NoteForm place={`reply ${note.id}`} label={said.replyLabel} save={said.reply} isAskedFor onCancel={() => setReplying(false)} onDone={() => setReplying(false)}
          onSave={text => act(noteReplied(note.id, text, newId()))} />
      )}
      <Outcome act={notes.done.value.get(note.id)} />
    </div>
  );
}

function Entry({text: given, onRemove}: {text: StringOrMarkdown; onRemove: (() => void) | undefined}) {
  const text = plainText(given);
  const [isWhole, setWhole] = useState(text.length <= MOST_SHOWN);
  const shown = isWhole ? text : text.slice(0, MOST_SHOWN);
  return (
    <div class="notes-entry">
      {typeof given === 'string' ? <p>{visible(shown)}</p> : <Markdown text={shown} />}
      {onRemove && <ActButton kind="quiet" icon={X} class="notes-entry-remove" label={words.workspace.notes.removeEntry} onClick={onRemove} />}
      {!isWhole && <Button kind="quiet" onClick={() => setWhole(true)}>{words.workspace.notes.showAll}</Button>}
    </div>
  );
}
