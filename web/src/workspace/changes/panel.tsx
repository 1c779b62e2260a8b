/** The workspace panel of changes: what a session changed in files, live. */
import {Maximize2, Minimize2} from 'lucide';
import type {ComponentChildren} from 'preact';
import {useEffect, useMemo, useRef, useState} from 'preact/hooks';
import type {AnnotationsState, ChangesetFile, ChangesetState} from '../../ahp/index.ts';
import {pushLayer, route, type SessionRoute} from '../../route.ts';
import {type Act, useFollowed, useStore} from '../../store/index.ts';
import {Button} from '../../ui/button.tsx';
import {Outcome} from '../../ui/outcome.tsx';
import type {ChatRef} from '../../ui/registry.tsx';
import {visible} from '../../ui/safe.tsx';
import {Skeleton} from '../../ui/skeleton.tsx';
import {VirtualList, type ListHandle} from '../../ui/virtual_list.tsx';
import {words} from '../../words/index.ts';
import {resolvedUri} from '../files/paths.ts';
import {NoteForm} from '../notes/form.tsx';
import {NoteThread} from '../notes/thread.tsx';
import {type Notes, useNotes} from '../notes/use_notes.ts';
import {type ChangeSet, changeSets, chosenSet, operationsFor, totals, uriOf} from './catalogue.ts';
import {DiffLineView} from './diff_line.tsx';
import {columnsIn, lineHeight} from './line_height.ts';
import {Counts, FileRow} from './file_row.tsx';
import {OpenedFiles} from './opened.ts';
import {OperationButton, OperationQuestion, type Operations, useOperations} from './operations.tsx';
import {type PanelRow, type WritingAt, panelRows} from './panel_rows.ts';
import {SPLIT_FROM, useIsWide} from './use_diff.ts';
import './changes.css';

// Rows until they are measured.
const ESTIMATES: Readonly<Record<string, number>> = {file: 40, note: 120, writing: 140};
// Files of which the diffs open by themselves, where there are no more.
const OPEN_AT_ONCE = 1;

export function ChangesPanel({session, chat}: ChatRef) {
  const store = useStore();
  const followed = useFollowed(() => store.session(session), [store, session]);
  const state = followed.state.value;
  const at = route.value;
  const turn = at.at === 'session' ? at.turn : undefined;
  const [wanted, setWanted] = useState<string>();
  const ofTurn = turn === undefined ? [] : changeSets(state?.changesets, {turnId: turn});
  const sets = [...changeSets(state?.changesets), ...ofTurn];
  const chosen = chosenSet(sets, wanted);
  if (!state) return followed.gone.value === undefined ? <Skeleton lines={5} /> : <p class="changes-note">{words.link.refused(followed.gone.value)}</p>;
  if (!chosen) return <p class="changes-note">{words.workspace.changes.noSets}</p>;
  const picker = sets.length > 1 ? <SetPicker sets={sets} chosen={chosen} onChoose={setWanted} /> : null;
  return <SetView key={chosen.uri} set={chosen} picker={picker} session={session} chat={chat} folders={state.workingDirectories} />;
}

function SetPicker({sets, chosen, onChoose}: {sets: readonly ChangeSet[]; chosen: ChangeSet; onChoose: (uri: string) => void}) {
  return (
    <div class="changes-sets" role="group" aria-label={words.workspace.changes.sets}>
      {sets.map(set => (
        <Button key={set.uri} kind="quiet" pressed={set.uri === chosen.uri} onClick={() => onChoose(set.uri)}>{visible(set.label)}</Button>
      ))}
    </div>
  );
}

interface SetViewProps extends ChatRef {
  readonly set: ChangeSet;
  readonly picker: ComponentChildren;
  readonly folders: readonly string[] | undefined;
}

function SetView({set, picker, session, chat, folders}: SetViewProps) {
  const store = useStore();
  const followed = useFollowed(() => store.channel('changeset', set.uri), [store, set.uri]);
  const state = useSteady(followed.state.value);
  const opened = useMemo(() => new OpenedFiles(store), [store, set.uri]);
  const notes = useNotes(session);
  const operations = useOperations(set.uri);
  const box = useRef<HTMLDivElement>(null);
  const split = useIsWide(box, SPLIT_FROM);
  const columns = columnsIn(box.current, split);
  const [isWhole, setWhole] = useWholeWindow();
  const [writing, setWriting] = useState<WritingAt>();
  const [reviewed, setReviewed] = useState<Act>();
  const list = useRef<ListHandle | undefined>(undefined);
  useOpensNamed(state?.files, folders, opened, list);
  const here = useHere(session);
  const rows = useRows(state, opened, notes.state.value, writing, split);
  const review = (file: ChangesetFile, isReviewed: boolean): Act => {
    const act = store.act(set.uri, {type: 'changeset/filesReviewChanged', files: [file.id], reviewed: isReviewed}, set.uri);
    setReviewed(act);
    if (isReviewed) opened.close(file.id);
    return act;
  };
  const write = (at: WritingAt, file: ChangesetFile): void => {
    if (!opened.files.peek().has(file.id)) void opened.show(file);
    setWriting(at);
  };
  const renderRow = (row: PanelRow): ComponentChildren => {
    if (row.is === 'note') return <div class="changes-inset"><NoteThread note={row.note} notes={notes} chat={chat} /></div>;
    if (row.is === 'writing') return <Writing row={row} notes={notes} onClose={() => setWriting(undefined)} />;
    if (row.is !== 'file') return <ContentRow row={row} opened={opened} onNote={line => write({file: row.file.id, line}, row.file)} />;
    const {file, isOpen} = row;
    return (
      <FileRow {...{file, isOpen, folders, here, operations}} notes={row.notes} offered={state?.operations} onToggle={() => opened.toggle(file)}
        onNote={() => write({file: file.id}, file)} onReview={set.mayReview ? isReviewed => review(file, isReviewed) : undefined} />
    );
  };
  return (
    <div class={isWhole ? 'changes whole' : 'changes'} ref={box} onKeyDown={moveInGutter}>
      <header class="changes-head">
        {picker}
        <Summary set={set} state={state} operations={operations} opened={opened} />
        <Button kind="quiet" class="changes-whole" icon={isWhole ? Minimize2 : Maximize2} label={isWhole ? words.workspace.changes.panelAgain : words.workspace.changes.wholePanel} onClick={() => setWhole(!isWhole)} />
      </header>
      <Outcome act={reviewed} />
      {operations.failure.value !== undefined && <p class="ui-outcome" role="alert">{operations.failure.value}</p>}
      <Status state={state} gone={followed.gone.value} />
      {rows.length > 0 && (
        <VirtualList rows={rows} keyOf={row => row.key} estimate={row => (row.is === 'line' ? lineHeight(row.line, columns) : ESTIMATES[row.is] ?? 44)} label={words.workspace.changes.files} class="changes-list"
          role="presentation" renderRow={renderRow} handle={handle => void (list.current = handle)} />
      )}
      <OperationQuestion operations={operations} />
    </div>
  );
}

/** Arrows go from number to number, of which only each file's first is a stop for Tab. */
function moveInGutter(event: KeyboardEvent): void {
  const from = event.target as HTMLElement;
  const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
  if (step === undefined || !from.classList.contains('changes-gutter')) return;
  const all = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>('.changes-gutter')];
  const next = all[all.indexOf(from) + step];
  if (!next) return;
  event.preventDefault();
  next.focus();
  next.scrollIntoView({block: 'nearest'});
}

/** The state, but with the files of before while the host looks for them anew: what somebody reads stays. */
function useSteady(state: ChangesetState | undefined): ChangesetState | undefined {
  const before = useRef<readonly ChangesetFile[]>([]);
  const isLooking = state?.status === 'computing' || state?.status === 'recomputing';
  if (state && !(isLooking && !state.files.length)) before.current = state.files;
  return useMemo(() => (state && isLooking && !state.files.length ? {...state, status: 'recomputing', files: before.current} : state), [state]);
}

function useHere(session: string): SessionRoute {
  const at = route.value;
  return at.at === 'session' && at.session === session ? at : {at: 'session', session};
}

function useRows(state: ChangesetState | undefined, opened: OpenedFiles, notes: AnnotationsState | undefined, writing: WritingAt | undefined, split: boolean): PanelRow[] {
  const open = opened.files.value;
  useEffect(() => {
    if (state) opened.follow(state.files);
  }, [state?.files]);
  return useMemo(() => panelRows({files: state?.files ?? [], open, notes, writing, split}), [state?.files, open, notes, writing, split]);
}

/** Opens the file that the address names, or the only one. */
function useOpensNamed(files: readonly ChangesetFile[] | undefined, folders: readonly string[] | undefined, opened: OpenedFiles, list: {readonly current: ListHandle | undefined}): void {
  const at = route.value;
  const named = at.at === 'session' && at.panel === 'changes' && at.file !== undefined ? resolvedUri(at.file, folders) : undefined;
  const isThere = (files?.length ?? 0) > 0;
  useEffect(() => {
    if (!files?.length) return;
    const found = files.find(file => uriOf(file) === named || file.id === named);
    if (found) {
      const seek = (): void => void list.current?.toKey(`file ${found.id}`);
      seek();
      // Once more when its lines are there: before, the list may end too early for it.
      void opened.show(found).then(() => requestAnimationFrame(seek));
    } else if (files.length <= OPEN_AT_ONCE) {
      for (const file of files) void opened.show(file);
    }
  }, [isThere, named]);
}

/** The panel over all of the page; Back leaves it. */
function useWholeWindow(): [boolean, (isWhole: boolean) => void] {
  const [isWhole, setWhole] = useState(false);
  useEffect(() => (isWhole ? pushLayer(() => setWhole(false)) : undefined), [isWhole]);
  return [isWhole, setWhole];
}

function Summary({set, state, operations, opened}: {set: ChangeSet; state: ChangesetState | undefined; operations: Operations; opened: OpenedFiles}) {
  const said = words.workspace.changes;
  const files = state?.files ?? [];
  if (!state || !files.length) return <div class="changes-summary" />;
  const {added, removed, reviewed} = totals(files);
  const isOpen = opened.files.value.size > 0;
  const whole = operationsFor(state.operations, 'changeset');
  const toggle = (): void => {
    for (const file of files) {
      if (isOpen) opened.close(file.id);
      else if (!file.reviewed) void opened.show(file);
    }
  };
  return (
    <div class="changes-summary">
      <span>{said.summary(files.length)}</span>
      <Counts added={added} removed={removed} />
      {set.mayReview && <span>{said.reviewedOf(reviewed, files.length)}</span>}
      {state.status === 'recomputing' && <span>{said.recomputing}</span>}
      {files.length <= 30 && <Button kind="quiet" onClick={toggle}>{isOpen ? said.closeAll : said.openAll}</Button>}
      {whole.length > 0 && <span class="changes-operations">{whole.map(operation => <OperationButton key={operation.id} operation={operation} operations={operations} />)}</span>}
      {state.operations?.map(operation => operation.error && (
        <p key={operation.id} class="ui-outcome" role="alert">{said.operationFailed(visible(operation.label), visible(operation.error.message))}</p>
      ))}
    </div>
  );
}

function Status({state, gone}: {state: ChangesetState | undefined; gone: string | undefined}) {
  const said = words.workspace.changes;
  if (!state) return gone === undefined ? <Skeleton lines={5} /> : <p class="changes-note">{words.link.refused(visible(gone))}</p>;
  if (state.status === 'error') return <p class="changes-note" role="alert">{said.failed(visible(state.error?.message ?? ''))}</p>;
  if (state.files.length) return null;
  return <p class="changes-note">{state.status === 'ready' ? said.none : said.computing}</p>;
}

function Writing({row, notes, onClose}: {row: PanelRow & {is: 'writing'}; notes: Notes; onClose: () => void}) {
  const said = words.workspace.notes;
  const {line} = row.at;
  const resource = uriOf(row.file);
  return (
    <div class="changes-inset">
      <NoteForm place={`${resource} ${line ?? ''}`} label={line === undefined ? said.write : said.noteOnLine(line)} save={said.add} isAskedFor
        onSave={text => notes.add(resource, line === undefined ? undefined : {from: line, to: line}, text)} onDone={onClose} onCancel={onClose} />
    </div>
  );
}

function ContentRow({row, opened, onNote}: {row: Exclude<PanelRow, {is: 'file' | 'note' | 'writing'}>; opened: OpenedFiles; onNote: (line: number) => void}) {
  const said = words.workspace;
  switch (row.is) {
    case 'loading': return <Skeleton lines={3} />;
    case 'tooDifferent': return <p class="changes-note">{said.tooDifferent}</p>;
    case 'same': return <p class="changes-note">{said.changes.same}</p>;
    case 'said': return (
      <p class="changes-note">
        {visible(row.text)} {row.again && <Button onClick={() => void opened.show(row.file)}>{words.shell.tryAgain}</Button>}
      </p>
    );
    case 'line': {
      const gutter = (line: number): ComponentChildren => (
        <button type="button" class="changes-gutter" tabIndex={row.isFirst ? 0 : -1} aria-label={said.notes.noteOnLine(line)} onClick={() => onNote(line)}>{line}</button>
      );
      return <DiffLineView line={row.line} onOpenGap={from => opened.openGap(row.file.id, from)} gutter={row.file.edit.after ? gutter : undefined} />;
    }
  }
}
