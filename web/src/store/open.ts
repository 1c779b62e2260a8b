/** Opening the page's store. */
import {signal} from '@preact/signals';
import type {RootState, SessionSummary} from '../ahp/index.ts';
import type {Act, Followed, FollowedChat, Live, Me, Store, Waiting} from './index.ts';

/** The store of this page, which connects by itself. */
export function openStore(): Store {
  return {
    live: signal<Live>('connecting'),
    since: signal(Date.now()),
    me: signal<Me | undefined>(undefined),
    root: opening<RootState>(),
    sessions: signal<readonly SessionSummary[]>([]),
    waiting: signal<readonly Waiting[]>([]),
    session: () => opening(),
    chat: () => ({...opening(), loadEarlier: () => Promise.resolve(false), mayLoad: signal(false)}) as FollowedChat,
    channel: () => opening(),
    act: () => ({phase: signal<'notSent'>('notSent'), text: signal('')}) as Act,
    ask: () => Promise.reject(new Error('not connected')),
    retry: () => {},
    signOut: () => Promise.resolve(),
  };
}

function opening<S>(): Followed<S> {
  return {state: signal<S | undefined>(undefined), phase: signal<'opening'>('opening'), gone: signal<string | undefined>(undefined), release: () => {}};
}
