/** Giving a session another title. */
import '../forms/forms.css';
import {useState} from 'preact/hooks';
import {useStore} from '../store/index.ts';
import {ActButton, Button} from '../ui/button.tsx';
import {Sheet} from '../ui/sheet.tsx';
import {words} from '../words/index.ts';
import type {Row} from './list_model.ts';
import {tellOutcome} from './tell_outcome.ts';

/** The dialog for it. */
export function Rename({row, onClose}: {row: Row; onClose(): void}) {
  const store = useStore();
  const [name, setName] = useState(row.title);
  const save = (event: Event): void => {
    event.preventDefault();
    const title = name.trim();
    if (title && title !== row.title) tellOutcome(store.act(row.uri, {type: 'session/titleChanged', title}, `rename:${row.uri}`));
    onClose();
  };
  return (
    <Sheet title={words.sessions.rename} onClose={onClose}>
      <form class="sessions-rename" onSubmit={save}>
        <label>
          {words.sessions.name}
          <input class="forms-input" autofocus value={name} maxLength={200} onInput={event => setName(event.currentTarget.value)} />
        </label>
        <div class="sessions-rename-buttons">
          <Button onClick={onClose}>{words.shell.cancel}</Button>
          <ActButton kind="primary" submit>{words.sessions.save}</ActButton>
        </div>
      </form>
    </Sheet>
  );
}
