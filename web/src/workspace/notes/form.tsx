/** A field in which a note or an answer is written. */
import {useState} from 'preact/hooks';
import type {Act} from '../../store/index.ts';
import {ActButton, Button} from '../../ui/button.tsx';
import {words} from '../../words/index.ts';
import {draftAt, keepDraft, keepUnlessTaken} from './drafts.ts';
import './notes.css';

export interface NoteFormProps {
  /** Names the place, so that what is written here stays with it. */
  readonly place: string;
  readonly label: string;
  readonly save: string;
  readonly onSave: (text: string) => Act;
  readonly onDone?: (() => void) | undefined;
  readonly onCancel?: (() => void) | undefined;
  /** Whether somebody has just asked for it, and is about to type. */
  readonly isAskedFor?: boolean | undefined;
}

export function NoteForm({place, label, save, onSave, onDone, onCancel, isAskedFor}: NoteFormProps) {
  const [text, setText] = useState(() => draftAt(place));
  const write = (value: string): void => {
    setText(value);
    keepDraft(place, value);
  };
  const submit = (event: Event): void => {
    event.preventDefault();
    if (!text.trim()) return;
    const act = onSave(text.trim());
    write('');
    keepUnlessTaken(act, place, text);
    onDone?.();
  };
  const press = (event: KeyboardEvent): void => {
    if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) submit(event);
    if (event.key === 'Escape' && onCancel && !text.trim()) {
      event.stopPropagation();
      onCancel();
    }
  };
  const focus = (field: HTMLTextAreaElement | null): void => {
    if (isAskedFor && field && field.dataset['asked'] === undefined) {
      field.dataset['asked'] = '';
      field.focus({preventScroll: true});
    }
  };
  return (
    <form class="notes-form" onSubmit={submit} onKeyDown={press}>
      <textarea ref={focus} rows={2} value={text} aria-label={label} placeholder={label} maxLength={20_000} onInput={event => write(event.currentTarget.value)} />
      <div class="notes-form-actions">
        {onCancel && (
          <Button
            kind="quiet"
            onClick={() => {
              write('');
              onCancel();
            }}
          >
            {words.shell.cancel}
          </Button>
        )}
        <ActButton submit whyNot={text.trim() ? undefined : words.workspace.notes.writeFirst}>{save}</ActButton>
      </div>
    </form>
  );
}
