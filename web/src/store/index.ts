/** What components see of the host: signals of its state, and the two ways to ask something of it. */
import type {ReadonlySignal} from '@preact/signals';
import {createContext} from 'preact';
import {useContext, useEffect, useMemo} from 'preact/hooks';
import type {ChatState, InitializeResult, Kind, Methods, RootState, SessionInputRequest, SessionState, SessionSummary, StateAction, States} from '../ahp/index.ts';
import type {Live} from '../link/link.ts';

export type {Live} from '../link/link.ts';

/** A channel that a component follows: its state as last known, and how sure that is. */
export interface Followed<S> {
  readonly state: ReadonlySignal<S | undefined>;
  readonly phase: ReadonlySignal<'opening' | 'live' | 'stale' | 'gone'>;
  /** Why it exists no more, or is not for us. */
  readonly gone: ReadonlySignal<string | undefined>;
  release(): void;
}

/** A chat that is followed by its end, with its older turns on demand. */
export interface FollowedChat extends Followed<ChatState> {
  /** Load older turns; whether there are more. */
  loadEarlier(): Promise<boolean>;
  readonly mayLoad: ReadonlySignal<boolean>;
}

/** Something done: what became of it so far. */
export interface Act {
  readonly phase: ReadonlySignal<'pending' | 'done' | 'refused' | 'notSent' | 'uncertain'>;
  /** The host's reason, where it gave one. */
  readonly text: ReadonlySignal<string>;
}

/** Something that waits for a person. */
export interface Waiting {
  readonly session: string;
  readonly chat: string;
  readonly request: SessionInputRequest;
  /** Milliseconds since the epoch. */
  readonly since: number;
}

export interface Me {
  readonly name: string;
  readonly role: 'owner' | 'operator' | 'viewer';
}

/** The page's side of the host. */
export interface Store {
  readonly live: ReadonlySignal<Live>;
  /** Why, where `live` needs a reason: the host's words. */
  readonly detail: ReadonlySignal<string>;
  /** When the host was last heard before `live` became what it is, in milliseconds since the epoch. */
  readonly since: ReadonlySignal<number>;
  readonly me: ReadonlySignal<Me | undefined>;
  /** What the host said of itself: trigger characters, its default directory, what it can. */
  readonly host: ReadonlySignal<InitializeResult | undefined>;
  readonly root: Followed<RootState>;
  readonly sessions: ReadonlySignal<readonly SessionSummary[]>;
  /** Whether `sessions` was ever told, by the host or by what this browser kept; before, its emptiness means nothing. */
  readonly listed: ReadonlySignal<boolean>;
  readonly waiting: ReadonlySignal<readonly Waiting[]>;
  session(uri: string): Followed<SessionState>;
  chat(uri: string, turns?: number): FollowedChat;
  channel<K extends Kind>(kind: K, uri: string): Followed<States[K]>;
  /** Dispatch an action; `at` names the control at which its outcome shows. */
  act(uri: string, action: StateAction, at?: string): Act;
  ask<M extends keyof Methods>(method: M, params: Methods[M]['params']): Promise<Methods[M]['result']>;
  /** Connect now instead of waiting; from `superseded`, take the place back. */
  retry(): void;
  signOut(): Promise<void>;
}

export const StoreContext = createContext<Store | undefined>(undefined);

/** The store of the page around a component. */
export function useStore(): Store {
  const store = useContext(StoreContext);
  if (!store) throw new Error('there is no store around this component');
  return store;
}

/** Follow a channel while a component is shown. The store keeps it a little longer: moving between places comes back soon. */
export function useFollowed<F extends Followed<unknown>>(open: () => F, deps: unknown[]): F {
  const followed = useMemo(open, deps);
  useEffect(() => () => followed.release(), [followed]);
  return followed;
}
