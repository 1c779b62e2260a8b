/** What the host offers to do with changes: asked for by buttons, agreed to where the host wants that. */
import {type ReadonlySignal, signal} from '@preact/signals';
import {useMemo} from 'preact/hooks';
import type {ChangesetFile, ChangesetOperation} from '../../ahp/index.ts';
import {useStore} from '../../store/index.ts';
import {ActButton, Button} from '../../ui/button.tsx';
import {openSafely, openable, visible} from '../../ui/safe.tsx';
import {Sheet} from '../../ui/sheet.tsx';
import {toast} from '../../ui/toast.tsx';
import {words} from '../../words/index.ts';
import {failureText} from '../failure.ts';
import {nameOf} from '../files/paths.ts';
import {confirmationOf, plainText, targetOf, uriOf} from './catalogue.ts';

/** An operation that waits for a person's yes. */
interface Asking {
  readonly operation: ChangesetOperation;
  readonly file: ChangesetFile | undefined;
  readonly text: string;
}

/** Carries out operations of one set of changes. */
export interface Operations {
  start(operation: ChangesetOperation, file?: ChangesetFile): void;
  readonly asking: ReadonlySignal<Asking | undefined>;
  answer(isAgreed: boolean): void;
  /** Why the last one was not carried out. */
  readonly failure: ReadonlySignal<string | undefined>;
}

export function useOperations(channel: string): Operations {
  const store = useStore();
  return useMemo(() => {
    const asking = signal<Asking | undefined>(undefined);
    const failure = signal<string | undefined>(undefined);
    const invoke = async (operation: ChangesetOperation, file: ChangesetFile | undefined): Promise<void> => {
      failure.value = undefined;
      try {
        const target = file ? {target: targetOf(file)} : {};
        const {message, followUp} = (await store.ask('invokeChangesetOperation', {channel, operationId: operation.id, ...target})) ?? {};
        const address = followUp?.external ? followUp.content.uri : undefined;
        const action = address !== undefined && openable(address) ? {action: {words: words.workspace.changes.open, run: () => void openSafely(address)}} : {};
        if (message !== undefined || address !== undefined) toast(visible(message === undefined ? operation.label : plainText(message)).slice(0, 300), action);
      } catch (error) {
        failure.value = words.workspace.changes.operationFailed(visible(operation.label), failureText(error, {changes: true}));
      }
    };
    return {
      asking,
      failure,
      start(operation, file) {
        const text = confirmationOf(operation, file ? nameOf(uriOf(file)) : words.workspace.changes.files.toLowerCase());
        if (text === undefined) void invoke(operation, file);
        else asking.value = {operation, file, text};
      },
      answer(isAgreed) {
        const asked = asking.peek();
        asking.value = undefined;
        if (asked && isAgreed) void invoke(asked.operation, asked.file);
      },
    };
  }, [store, channel]);
}

/** Why an operation cannot be started now. */
export function whyNotNow(operation: ChangesetOperation): string | undefined {
  if (operation.status === 'disabled') return words.workspace.changes.notNow;
  return operation.status === 'running' ? words.workspace.changes.running(visible(operation.label)) : undefined;
}

export function OperationButton({operation, operations}: {operation: ChangesetOperation; operations: Operations}) {
  const label = visible(operation.label);
  return (
    <ActButton kind={operation.group === 'primary' ? 'primary' : 'plain'} whyNot={whyNotNow(operation)} onClick={() => operations.start(operation)}>
      {operation.status === 'running' ? words.workspace.changes.running(label) : label}
    </ActButton>
  );
}

/** Asks for a yes while an operation wants one. */
export function OperationQuestion({operations}: {operations: Operations}) {
  const asked = operations.asking.value;
  if (!asked) return null;
  const actions = (
    <>
      <Button onClick={() => operations.answer(false)}>{words.shell.cancel}</Button>
      <ActButton kind="danger" onClick={() => operations.answer(true)}>{visible(asked.operation.label)}</ActButton>
    </>
  );
  return (
    <Sheet title={visible(asked.operation.label)} onClose={() => operations.answer(false)} actions={actions}>
      <p>{visible(asked.text)}</p>
    </Sheet>
  );
}
