/** The folder to work in: a recent one, a typed path, or one found by browsing the host. */
import './new.css';
import {useId, useState} from 'preact/hooks';
import {FolderPicker} from '../browse/folder_picker.tsx';
import {pathOf} from '../browse/paths.ts';
import {useStore} from '../store/index.ts';
import {Button} from '../ui/button.tsx';
import {visible} from '../ui/safe.tsx';
import {words} from '../words/index.ts';

// Folders that were worked in lately, as many as one still looks through.
const MOST_RECENT = 8;

export interface FolderFieldProps {
  readonly directory: string | undefined;
  readonly onChange: (directory: string | undefined) => void;
}

/** The folders of the newest sessions, each once. */
function useRecent(): readonly string[] {
  const sessions = useStore().sessions.value.toSorted((a, b) => Date.parse(b.modifiedAt) - Date.parse(a.modifiedAt));
  return [...new Set(sessions.flatMap(session => session.workingDirectories?.slice(0, 1) ?? []))].slice(0, MOST_RECENT);
}

export function FolderField({directory, onChange}: FolderFieldProps) {
  const id = useId();
  const [isBrowsing, setBrowsing] = useState(false);
  const usual = useStore().host.value?.defaultDirectory;
  const choices = [...new Set([...(directory === undefined ? [] : [directory]), ...useRecent()])].filter(uri => uri !== usual);
  const standard = usual === undefined ? words.sessions.new.defaultFolder : visible(pathOf(usual));
  return (
    <div class="forms-field">
      <label class="forms-label" for={id}>{words.sessions.new.folder}</label>
      <div class="sessions-new-folder">
        <select id={id} class="forms-input" value={directory ?? ''} onChange={event => onChange(event.currentTarget.value || undefined)}>
          <option value="">{standard}</option>
          {choices.map(uri => <option key={uri} value={uri}>{visible(pathOf(uri))}</option>)}
        </select>
        <Button onClick={() => setBrowsing(true)} popup="dialog">{words.sessions.new.browse}</Button>
      </div>
      {isBrowsing && <FolderPicker from={directory ?? usual ?? 'file:///'} onPick={onChange} onClose={() => setBrowsing(false)} />}
    </div>
  );
}
