/** One file, read-only: text with its notes, a picture, or what else it is. */
import {ArrowLeft, Copy, MessageSquarePlus, Paperclip, RefreshCw} from 'lucide';
import type {ComponentChildren} from 'preact';
import {useEffect, useMemo, useRef, useState} from 'preact/hooks';
import type {MessageAttachment} from '../../ahp/index.ts';
import {go, type SessionRoute} from '../../route.ts';
import {useStore} from '../../store/index.ts';
import {ActButton, Button} from '../../ui/button.tsx';
import {copy} from '../../ui/copy.ts';
import type {ChatRef} from '../../ui/registry.tsx';
import {visible} from '../../ui/safe.tsx';
import {Skeleton} from '../../ui/skeleton.tsx';
import {toast} from '../../ui/toast.tsx';
import {type ListHandle, VirtualList} from '../../ui/virtual_list.tsx';
import {words} from '../../words/index.ts';
import {columnsIn, textHeight} from '../changes/line_height.ts';
import {attachToMessage} from '../notes/attach.ts';
import {NoteForm} from '../notes/form.tsx';
import {type Lines, notesOn, rangeOf} from '../notes/model.ts';
import {NoteThread} from '../notes/thread.tsx';
import {type Notes, useNotes} from '../notes/use_notes.ts';
import {type FileLineRow, fileRows, selected, textLines} from './file_rows.ts';
import {ImageView} from './image_view.tsx';
import {LineText, usePaint} from './line_text.tsx';
import {folderPart, nameOf, pathOf, shortPath} from './paths.ts';
import {type FileRead, readFile} from './reading.ts';

export interface FileViewProps extends ChatRef {
  readonly uri: string;
  readonly line: number | undefined;
  readonly folders: readonly string[] | undefined;
  readonly here: SessionRoute;
  /** What the session is at: another one, and the file is read again. */
  readonly activity: number;
  readonly onClose: (() => void) | undefined;
  /** What is named is a folder. */
  readonly onFolder: () => void;
}

export function FileView({session, chat, uri, line, folders, here, activity, onClose, onFolder}: FileViewProps) {
  const said = words.workspace.files;
  const store = useStore();
  const [read, setRead] = useState<FileRead>();
  const [times, setTimes] = useState(0);
  const [writing, setWriting] = useState<{lines: Lines | undefined}>();
  const notes = useNotes(session);
  useEffect(() => {
    let isWanted = true;
    void readFile(store, uri).then(found => {
      if (!isWanted) return;
      setRead(found);
      if (found.is === 'folder') onFolder();
    });
    return () => {
      isWanted = false;
    };
  }, [store, uri, times, activity]);
  const path = visible(shortPath(uri, folders));
  const attach = (lines?: Lines): void => {
    attachToMessage(chat, fileAttachment(uri, lines));
    toast(words.workspace.notes.attached);
  };
  return (
    <section class="files-view" aria-label={path}>
      <header class="files-head">
        {onClose && <Button kind="quiet" icon={ArrowLeft} label={said.back} onClick={onClose} />}
        <span class="files-path" title={path}><bdi><span class="files-folder">{folderPart(path)}</span>{path.slice(folderPart(path).length)}</bdi></span>
        <ActButton kind="quiet" icon={MessageSquarePlus} label={words.workspace.changes.noteOnFile} onClick={() => setWriting({lines: undefined})} />
        <Button kind="quiet" icon={Paperclip} label={words.workspace.notes.attach} onClick={() => attach()} />
        <Button kind="quiet" icon={Copy} label={words.workspace.changes.copyPath} onClick={() => void copy(pathOf(uri))} />
        <Button kind="quiet" icon={RefreshCw} label={said.refresh} onClick={() => setTimes(times + 1)} />
      </header>
      {read?.is === 'text'
        ? <TextView {...{uri, line, here, chat, notes, writing}} text={read.text} onWrite={setWriting} onAttach={attach} />
        : <OtherContent read={read} name={visible(nameOf(uri))} />}
      {read !== undefined && read.is !== 'text' && writing && <Writing uri={uri} lines={undefined} notes={notes} onClose={() => setWriting(undefined)} />}
    </section>
  );
}

function OtherContent({read, name}: {read: Exclude<FileRead, {is: 'text'}> | undefined; name: string}): ComponentChildren {
  const said = words.workspace.files;
  if (!read) return <Skeleton lines={6} />;
  switch (read.is) {
    case 'image': return <ImageView bytes={read.bytes} type={read.type} name={name} />;
    case 'binary': return <p class="files-note">{said.binary(read.size)}</p>;
    case 'large': return <p class="files-note">{said.large(read.size)}</p>;
    case 'folder': return <p class="files-note">{said.folder}</p>;
    case 'failed': return <p class="files-note" role="alert">{visible(read.text)}</p>;
  }
}

interface TextViewProps {
  readonly uri: string;
  readonly text: string;
  readonly line: number | undefined;
  readonly here: SessionRoute;
  readonly chat: string;
  readonly notes: Notes;
  readonly writing: {lines: Lines | undefined} | undefined;
  readonly onWrite: (writing: {lines: Lines | undefined} | undefined) => void;
  readonly onAttach: (lines: Lines) => void;
}

function TextView({uri, text, line, here, chat, notes, writing, onWrite, onAttach}: TextViewProps) {
  const lines = useMemo(() => textLines(text), [text]);
  const about = notesOn(notes.state.value, uri);
  const rows = useMemo(() => fileRows({lines, notes: about, writing}), [lines, notes.state.value, writing]);
  const [selection, setSelection] = useState<Lines | undefined>(line === undefined ? undefined : {from: line, to: line});
  const paint = usePaint(nameOf(uri), text);
  const list = useRef<ListHandle | undefined>(undefined);
  const columns = columnsIn(list.current?.element ?? null, false);
  // The line that an address names is shown; one that was pressed is in view already.
  const pressed = useRef<number | undefined>(undefined);
  useEffect(() => {
    if (line === undefined || pressed.current === line) return;
    setSelection({from: line, to: line});
    list.current?.toKey(`line ${line}`, 'center');
  }, [line]);
  const press = (number: number, extend: boolean): void => {
    const now = selected(selection, number, extend);
    pressed.current = now.from;
    setSelection(now);
    go({...here, line: now.from}, {replace: true});
  };
  const renderRow = (row: FileLineRow): ComponentChildren => {
    if (row.is === 'note') return <div class="files-inset"><NoteThread note={row.note} notes={notes} chat={chat} /></div>;
    if (row.is === 'writing') return <Writing uri={uri} lines={row.lines} notes={notes} onClose={() => onWrite(undefined)} />;
    const isSelected = selection !== undefined && row.number >= selection.from && row.number <= selection.to;
    return (
      <div class={isSelected ? 'files-line selected' : 'files-line'}>
        <button type="button" class="files-number" tabIndex={row.number === (selection?.from ?? 1) ? 0 : -1} aria-label={words.workspace.files.selectLine(row.number)} aria-pressed={isSelected}
          onClick={event => press(row.number, event.shiftKey)}>{row.number}</button>
        <code class="files-text">
          <LineText text={row.text} runs={paint?.[row.number - 1]} />
          {row.isCut && <span class="files-cut">{words.workspace.lineMarks.cut}</span>}
        </code>
      </div>
    );
  };
  if (!text) return <p class="files-note">{words.workspace.files.empty}</p>;
  return (
    <>
      <div class="files-rows" onKeyDown={event => moveInLines(event)}>
        <VirtualList rows={rows} keyOf={row => row.key} estimate={row => (row.is === 'line' ? textHeight(row.text.length, columns) : 120)} label={visible(nameOf(uri))} role="presentation" renderRow={renderRow}
          handle={handle => {
            list.current = handle;
            if (line !== undefined) handle.toKey(`line ${line}`, 'center');
          }} />
      </div>
      {selection && <SelectionBar selection={selection} onNote={() => onWrite({lines: selection})} onAttach={() => onAttach(selection)} />}
    </>
  );
}

function SelectionBar({selection, onNote, onAttach}: {selection: Lines; onNote: () => void; onAttach: () => void}) {
  return (
    <div class="files-selection">
      <span>{words.workspace.files.lines(selection.from, selection.to)}</span>
      <ActButton kind="quiet" icon={MessageSquarePlus} onClick={onNote}>{words.workspace.notes.write}</ActButton>
      <Button kind="quiet" icon={Paperclip} onClick={onAttach}>{words.workspace.notes.attach}</Button>
    </div>
  );
}

function Writing({uri, lines, notes, onClose}: {uri: string; lines: Lines | undefined; notes: Notes; onClose: () => void}) {
  const said = words.workspace.notes;
  return (
    <div class="files-inset">
      <NoteForm place={`${uri} ${lines?.from ?? ''}`} label={lines ? said.noteOn(words.workspace.files.lines(lines.from, lines.to).toLowerCase()) : said.write} save={said.add} isAskedFor
        onSave={text => notes.add(uri, lines, text)} onDone={onClose} onCancel={onClose} />
    </div>
  );
}

function fileAttachment(uri: string, lines: Lines | undefined): MessageAttachment {
  const name = nameOf(uri);
  const label = lines ? words.workspace.notes.at(name, lines.from, lines.to) : name;
  return {type: 'resource', uri, label, displayKind: 'file', ...(lines ? {selection: {range: rangeOf(lines)}} : {})};
}

/** Arrows go from number to number; with Shift they select. */
function moveInLines(event: KeyboardEvent): void {
  const from = event.target as HTMLElement;
  const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
  if (step === undefined || !from.classList.contains('files-number')) return;
  const all = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>('.files-number')];
  const next = all[all.indexOf(from) + step];
  if (!next) return;
  event.preventDefault();
  next.focus();
  next.scrollIntoView({block: 'nearest'});
  if (event.shiftKey) next.dispatchEvent(new MouseEvent('click', {bubbles: true, shiftKey: true}));
}
