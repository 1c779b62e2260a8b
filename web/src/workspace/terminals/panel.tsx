/** The workspace panel of terminals. */
import type {ChatRef} from '../../ui/registry.tsx';
import {words} from '../../words/index.ts';

export function TerminalsPanel(_: ChatRef) {
  return <p>{words.workspace.empty}</p>;
}
