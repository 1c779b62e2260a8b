/** The workspace panel of changes. */
import type {ChatRef} from '../../ui/registry.tsx';
import {words} from '../../words/index.ts';

export function ChangesPanel(_: ChatRef) {
  return <p>{words.workspace.empty}</p>;
}
