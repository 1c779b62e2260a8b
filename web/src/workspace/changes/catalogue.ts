/** Which sets of changes a session or a turn has, and what stands in one of them (pure). */
import type {Changeset, ChangesetFile, ChangesetOperation, ChangesetOperationTarget, FileEditSide, StringOrMarkdown} from '../../ahp/index.ts';
import {escaped} from '../files/paths.ts';

const VARIABLE = /\{([^{}]*)\}/g;

/** A set of changes that can be followed. */
export interface ChangeSet {
  readonly uri: string;
  readonly label: string;
  readonly kind: string;
  readonly description?: string;
  readonly mayReview: boolean;
}

/** The sets that can be opened with these values, as the host orders them; a template that wants others is left out. */
export function changeSets(catalogue: readonly Changeset[] | undefined, values: Readonly<Record<string, string>> = {}): ChangeSet[] {
  return (catalogue ?? []).flatMap(entry => {
    const uri = expanded(entry.uriTemplate, values);
    if (uri === undefined) return [];
    const description = entry.description === undefined ? {} : {description: entry.description};
    return {uri, label: entry.label, kind: entry.changeKind, ...description, mayReview: entry.capabilities?.review !== undefined};
  });
}

/** The URI of a template; undefined unless it has exactly these variables. */
export function expanded(template: string, values: Readonly<Record<string, string>>): string | undefined {
  const wanted = new Set([...template.matchAll(VARIABLE)].map(found => found[1]!));
  const given = Object.keys(values);
  if (wanted.size !== given.length || !given.every(name => wanted.has(name))) return undefined;
  return template.replaceAll(VARIABLE, (_, name: string) => escaped(values[name]!));
}

/** The set to show: the one asked for, else what the session changed, else the first. */
export function chosenSet(sets: readonly ChangeSet[], wanted: string | undefined): ChangeSet | undefined {
  return sets.find(set => set.uri === wanted) ?? sets.find(set => set.kind === 'session') ?? sets[0];
}

export type FileChange = 'created' | 'deleted' | 'renamed' | 'edited';

/** What happened to a file. */
export function changeOf({edit}: ChangesetFile): FileChange {
  if (!edit.before) return 'created';
  if (!edit.after) return 'deleted';
  return edit.before.uri === edit.after.uri ? 'edited' : 'renamed';
}

/** Where a file is, or was if it is no more. */
export const uriOf = (file: ChangesetFile): string => (file.edit.after ?? file.edit.before)?.uri ?? file.id;

/** What stands for the content of a side: it is read anew only when this is another one. */
export const contentKey = (side: FileEditSide | undefined): string => (side ? `${side.content.uri}\n${side.content.nonce ?? ''}` : '');

/** How many lines were added and removed in all files, as far as that is known. */
export function totals(files: readonly ChangesetFile[]): {added: number; removed: number; reviewed: number} {
  let [added, removed, reviewed] = [0, 0, 0];
  for (const file of files) {
    added += file.edit.diff?.added ?? 0;
    removed += file.edit.diff?.removed ?? 0;
    if (file.reviewed) reviewed++;
  }
  return {added, removed, reviewed};
}

/** What a person is offered in a place: all changes, or one file. */
export const operationsFor = (operations: readonly ChangesetOperation[] | undefined, scope: 'changeset' | 'resource'): readonly ChangesetOperation[] =>
  (operations ?? []).filter(operation => operation.scopes.includes(scope));

/** What the host wants a person to agree to before; undefined where it asks for nothing. */
export function confirmationOf(operation: ChangesetOperation, name: string): string | undefined {
  const asked = operation.confirmation;
  return asked === undefined ? undefined : plainText(asked).replaceAll('{0}', name);
}

/** The target that names one file. */
export const targetOf = (file: ChangesetFile): ChangesetOperationTarget =>
  ({kind: 'resource', resource: uriOf(file), side: file.edit.after ? 'after' : 'before'});

/** A text that may be markdown, as it was written. */
export const plainText = (text: StringOrMarkdown): string => (typeof text === 'string' ? text : text.markdown);
