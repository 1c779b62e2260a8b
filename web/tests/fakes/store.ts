/** A store without a host, for rooms under test: its states are given, what is done and asked is kept. */
import {type Signal, signal} from '@preact/signals';
import {type ChatState, type Json, type Kind, kindOfState, reduce, type RootState, type SessionState, type SessionSummary, type StateAction, type States} from '../../src/ahp/index.ts';
import {ROOT} from '../../src/ahp/uris.ts';
import type {Act, Followed, FollowedChat, Live, Me, Store, Waiting} from '../../src/store/index.ts';

export interface FakeStates {
  readonly live?: Live;
  readonly me?: Me;
  readonly host?: Json;
  readonly root?: Json;
  readonly sessions?: readonly Json[];
  /** Whether the list was told; it was, unless said otherwise. */
  readonly listed?: boolean;
  readonly waiting?: readonly Waiting[];
  /** States of channels, by URI. */
  readonly channels?: Readonly<Record<string, Json>>;
  /** Answers to requests, by method. */
  readonly answers?: Readonly<Record<string, (params: Json) => unknown>>;
}

type Phase = Act['phase']['value'];

/** Something done, which the test brings to an end. */
export interface FakeAct extends Act {
  readonly uri: string;
  readonly action: StateAction;
  readonly at: string | undefined;
  readonly phase: Signal<Phase>;
  readonly text: Signal<string>;
  end(phase: Phase, text?: string): void;
}

export interface FakeStore extends Store {
  readonly live: Signal<Live>;
  readonly since: Signal<number>;
  readonly me: Signal<Me | undefined>;
  readonly sessions: Signal<readonly SessionSummary[]>;
  readonly listed: Signal<boolean>;
  readonly waiting: Signal<readonly Waiting[]>;
  /** What was done, in order. Each shows in its channel's state at once, as with a host. */
  readonly acts: FakeAct[];
  /** What was asked, in order. */
  readonly asks: {readonly method: string; readonly params: Json}[];
  /** The URIs that are followed now, with how many follow each. */
  readonly following: Map<string, number>;
  /** Give a channel another state. */
  set(uri: string, state: Json): void;
  /** Say that a channel exists no more. */
  lose(uri: string, reason: string): void;
  /** Apply an action of the host's to a channel. */
  apply(uri: string, action: Json): void;
  /** Calls of `loadEarlier`, `retry` and `signOut`. */
  readonly calls: string[];
}

/** A store with these states, live and owned by the one who looks, unless said otherwise. */
export function fakeStore(states: FakeStates = {}): FakeStore {
  const channels = new Map<string, Signal<Json>>();
  const channelOf = (uri: string): Signal<Json> => {
    let found = channels.get(uri);
    if (!found) channels.set(uri, (found = signal<Json>(states.channels?.[uri])));
    return found;
  };
  const following = new Map<string, number>();
  const reasons = new Map<string, Signal<string | undefined>>();
  const goneOf = (uri: string): Signal<string | undefined> => {
    let found = reasons.get(uri);
    if (!found) reasons.set(uri, (found = signal<string | undefined>(undefined)));
    return found;
  };
  const live = signal<Live>(states.live ?? 'live');
  const follow = <S>(uri: string): Followed<S> => {
    following.set(uri, (following.get(uri) ?? 0) + 1);
    const state = channelOf(uri);
    return {
      state,
      phase: signal(state.peek() === undefined ? 'opening' : 'live'),
      gone: goneOf(uri),
      release: () => void following.set(uri, (following.get(uri) ?? 1) - 1),
    };
  };
  const apply = (uri: string, action: Json): void => {
    const state = channelOf(uri);
    const kind = kindOfState(state.peek());
    if (kind) state.value = reduce(kind, state.peek(), action);
  };
  const acts: FakeAct[] = [];
  const asks: {method: string; params: Json}[] = [];
  const calls: string[] = [];
  channels.set(ROOT, signal<Json>(states.root ?? {agents: []}));
  return {
    live,
    detail: signal(''),
    since: signal(0),
    host: signal(states.host),
    me: signal<Me | undefined>(states.me ?? {name: 'me', role: 'owner'}),
    root: follow<RootState>(ROOT),
    sessions: signal<readonly SessionSummary[]>((states.sessions ?? []) as SessionSummary[]),
    listed: signal(states.listed ?? true),
    waiting: signal<readonly Waiting[]>(states.waiting ?? []),
    session: uri => follow<SessionState>(uri),
    chat: (uri): FollowedChat => ({
      ...follow<ChatState>(uri),
      loadEarlier: () => {
        calls.push('loadEarlier');
        return Promise.resolve(false);
      },
      mayLoad: signal(channelOf(uri).peek()?.turnsNextCursor !== undefined),
    }),
    channel: <K extends Kind>(_: K, uri: string) => follow<States[K]>(uri),
    act(uri, action, at) {
      const phase = signal<Phase>('pending');
      const text = signal('');
      const act: FakeAct = {
        uri, action, at, phase, text,
        end(ended, why = '') {
          text.value = why;
          phase.value = ended;
        },
      };
      acts.push(act);
      apply(uri, action);
      return act;
    },
    ask: (method, params) => {
      asks.push({method, params});
      const answer = states.answers?.[method];
      return answer ? Promise.resolve().then(() => answer(params) as never) : Promise.reject(new Error(`no answer to ${method}`));
    },
    retry: () => void calls.push('retry'),
    signOut: () => {
      calls.push('signOut');
      return Promise.resolve();
    },
    acts,
    asks,
    calls,
    following,
    set: (uri, state) => void (channelOf(uri).value = state),
    lose: (uri, reason) => void (goneOf(uri).value = reason),
    apply,
  };
}
