/** The workspace panel of notes. */
import type {ChatRef} from '../../ui/registry.tsx';
import {words} from '../../words/index.ts';

export function NotesPanel(_: ChatRef) {
  return <p>{words.workspace.empty}</p>;
}
