/** The workspace panel of files. */
import type {ChatRef} from '../../ui/registry.tsx';
import {words} from '../../words/index.ts';

export function FilesPanel(_: ChatRef) {
  return <p>{words.workspace.empty}</p>;
}
