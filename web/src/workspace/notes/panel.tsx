/** The workspace panel of notes: what people and the agent wrote on files, open ones first. */
import {FileText, Paperclip} from 'lucide';
import type {Annotation} from '../../ahp/index.ts';
import {route, type SessionRoute} from '../../route.ts';
import {useFollowed, useStore} from '../../store/index.ts';
import {Button} from '../../ui/button.tsx';
import {ErrorBoundary} from '../../ui/error_boundary.tsx';
import {Icon} from '../../ui/icon.tsx';
import type {ChatRef} from '../../ui/registry.tsx';
import {visible} from '../../ui/safe.tsx';
import {Skeleton} from '../../ui/skeleton.tsx';
import {To} from '../../ui/to.tsx';
import {toast} from '../../ui/toast.tsx';
import {words} from '../../words/index.ts';
import {linkName, shortPath} from '../files/paths.ts';
import {attachToMessage} from './attach.ts';
import {linesOf, noteAttachment, ordered} from './model.ts';
import {NoteThread} from './thread.tsx';
import {type Notes, useNotes} from './use_notes.ts';
import './notes.css';

export function NotesPanel({session, chat}: ChatRef) {
  const said = words.workspace.notes;
  const store = useStore();
  const notes = useNotes(session);
  const folders = useFollowed(() => store.session(session), [store, session]).state.value?.workingDirectories;
  const state = notes.state.value;
  if (!state) return notes.gone.value === undefined ? <Skeleton lines={4} /> : <p class="notes-empty">{words.link.refused(notes.gone.value)}</p>;
  const {open, resolved} = ordered(state);
  const attachAll = (): void => {
    attachToMessage(chat, noteAttachment(notes.channel, open, said.openNotes(open.length)));
    toast(said.attached);
  };
  return (
    <div class="notes">
      {open.length > 1 && (
        <header class="notes-head">
          <span>{said.openNotes(open.length)}</span>
          <Button kind="quiet" icon={Paperclip} onClick={attachAll}>{said.attachAll}</Button>
        </header>
      )}
      {!open.length && <p class="notes-empty">{resolved.length ? said.noneOpen : said.none}</p>}
      {open.map(note => <Note key={note.id} {...{note, notes, chat, session, folders}} />)}
      {resolved.length > 0 && (
        <details class="notes-resolved">
          <summary>{said.resolved(resolved.length)}</summary>
          {resolved.map(note => <Note key={note.id} {...{note, notes, chat, session, folders}} />)}
        </details>
      )}
    </div>
  );
}

interface NoteProps {
  readonly note: Annotation;
  readonly notes: Notes;
  readonly chat: string;
  readonly session: string;
  readonly folders: readonly string[] | undefined;
}

function Note({note, notes, chat, session, folders}: NoteProps) {
  const lines = linesOf(note.range);
  const at = route.value;
  const here: SessionRoute = at.at === 'session' ? at : {at: 'session', session};
  const path = visible(shortPath(note.resource, folders));
  return (
    <section class="notes-note">
      <To class="notes-place" route={{...here, panel: 'files', file: linkName(note.resource, folders), line: lines?.from}}>
        <Icon of={FileText} />
        <span>{lines ? words.workspace.notes.at(path, lines.from, lines.to) : path}</span>
      </To>
      <ErrorBoundary of={note}><NoteThread note={note} notes={notes} chat={chat} /></ErrorBoundary>
    </section>
  );
}
