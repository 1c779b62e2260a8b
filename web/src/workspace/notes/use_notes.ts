/** The notes of a session, as components use them. */
import {type ReadonlySignal, signal} from '@preact/signals';
import {useMemo} from 'preact/hooks';
import type {AnnotationsState, StateAction} from '../../ahp/index.ts';
import {annotationsUri} from '../../ahp/uris.ts';
import {type Act, type Followed, useFollowed, useStore} from '../../store/index.ts';
import {newId} from '../../ui/ids.ts';
import {type Lines, noteAdded} from './model.ts';

/** The notes of a session, and how to add to them. */
export interface Notes {
  readonly channel: string;
  readonly state: ReadonlySignal<AnnotationsState | undefined>;
  readonly phase: Followed<AnnotationsState>['phase'];
  readonly gone: ReadonlySignal<string | undefined>;
  /** Write a note on a file, or on lines of it. */
  add(resource: string, lines: Lines | undefined, text: string): Act;
  /** Change a note. */
  act(id: string, action: StateAction): Act;
  /** What was done last with each note: it shows there wherever the note has gone to meanwhile. */
  readonly done: ReadonlySignal<ReadonlyMap<string, Act>>;
}

/** Follow the notes of a session. */
export function useNotes(session: string): Notes {
  const store = useStore();
  const channel = annotationsUri(session);
  const {state, phase, gone} = useFollowed(() => store.channel('annotations', channel), [store, channel]);
  const done = useMemo(() => signal<ReadonlyMap<string, Act>>(new Map()), [channel]);
  return useMemo(() => ({
    channel, state, phase, gone, done,
    add: (resource, lines, text) =>
      store.act(channel, noteAdded({origin: {session}, resource, ...(lines ? {lines} : {})}, text, {note: newId(), entry: newId()})),
    act(id, action) {
      const act = store.act(channel, action);
      done.value = new Map(done.peek()).set(id, act);
      return act;
    },
  }), [store, channel, state]);
}
