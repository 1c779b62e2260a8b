/** Reducers of annotations. */
import {type J, carryGiven, indexBy, removeBy, replaceAt, updated, upsertBy} from '../edits.ts';
import {reduces} from '../registry.ts';

const CLIENT = {client: true};

function edited(state: J, id: string, edit: (annotation: J) => J): J {
  const index = indexBy(state.annotations, 'id', id);
  if (index < 0) return state;
  const before = state.annotations[index];
  const after = edit(before);
  return after === before ? state : {...state, annotations: replaceAt(state.annotations, index, after)};
}

reduces('annotations/set', (state, action) =>
  updated(state, {annotations: upsertBy(state.annotations, 'id', action.annotation)}), CLIENT);

// Overwrites what the action gives; what it leaves out stays.
reduces('annotations/updated', (state, action) => {
  const given = carryGiven(action, 'origin', 'resource', 'range', 'resolved');
  return edited(state, action.annotationId, annotation => updated(annotation, given));
}, CLIENT);

reduces('annotations/removed', (state, action) => {
  const annotations = removeBy(state.annotations, 'id', action.annotationId);
  return annotations ? {...state, annotations} : state;
}, CLIENT);

reduces('annotations/entrySet', (state, action) =>
  edited(state, action.annotationId, annotation =>
    updated(annotation, {entries: upsertBy(annotation.entries, 'id', action.entry)})), CLIENT);

// The list may become empty.
reduces('annotations/entryRemoved', (state, action) =>
  edited(state, action.annotationId, annotation => {
    const entries = removeBy(annotation.entries, 'id', action.entryId);
    return entries ? {...annotation, entries} : annotation;
  }), CLIENT);
