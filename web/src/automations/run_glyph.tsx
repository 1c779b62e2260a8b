/** How a run went, as the shapes of the session list. */
import {words} from '../words/index.ts';

const SHAPES: Readonly<Record<string, string>> = {pending: '◌', running: '◔', completed: '✓', failed: '✕', cancelled: '–'};

export function RunGlyph({status}: {status: string}) {
  const name = (words.automations.status as Readonly<Record<string, string>>)[status] ?? words.shell.unknownKind(status);
  return <span class={`automations-glyph ${SHAPES[status] ? status : 'unknown'}`} role="img" aria-label={name} title={name}>{SHAPES[status] ?? '?'}</span>;
}
