/** Tells a channel's kind by its state: the keys that give each kind away. A snapshot does not say. */
import type {Kind} from './registry.ts';

// In this order: the first kind whose keys are all there. Several kinds have a `lifecycle`.
const MARKS: readonly (readonly [Kind, readonly string[]])[] = [
  ['root', ['agents']],
  ['automationRun', ['automation', 'sessions']],
  ['session', ['lifecycle', 'activeClients']],
  ['chat', ['turns']],
  ['terminal', ['content', 'claim']],
  ['canvas', ['instanceId', 'canvasId']],
  ['automation', ['entries']],
  ['changeset', ['files', 'status']],
  ['resourceWatch', ['root', 'recursive']],
  ['annotations', ['annotations']],
];

/** The kind of channel that a state belongs to; undefined for an unknown one. */
export function kindOfState(state: unknown): Kind | undefined {
  if (typeof state !== 'object' || state === null || Array.isArray(state)) return undefined;
  return MARKS.find(([, keys]) => keys.every(key => Object.hasOwn(state, key)))?.[0];
}
