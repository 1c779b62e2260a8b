// @vitest-environment happy-dom
import {afterEach, describe, expect, it, vi} from 'vitest';
import {TranscriptProvider, Folds} from '../../src/chat/context.ts';
import {ChatPage} from '../../src/chat/page.tsx';
import {TurnEnd} from '../../src/chat/parts/turn_end.tsx';
import {RowMaker, type EndRow} from '../../src/chat/rows.ts';
import {Tabs} from '../../src/chat/tabs.tsx';
import {go, route} from '../../src/route.ts';
import {Toasts} from '../../src/ui/toast.tsx';
import {type Shown, show} from '../fakes/render.tsx';
import {type FakeStates, fakeStore} from '../fakes/store.ts';

const S = 'ahp-session:/s';
const C = 'ahp-chat:/c';
const SECOND = 'ahp-chat:/second';

let shown: Shown;
afterEach(() => shown.remove());

const turn = (id: string, text: string): object => ({id, startedAt: '2026-01-01T00:00:00Z', duration: 1500, state: 'complete', message: {text, origin: {kind: 'user'}}, responseParts: [{kind: 'markdown', id: 'p', content: `Answer to ${text}`}], usage: {inputTokens: 1000, outputTokens: 200}});
const summary = (resource: string, more: object = {}): object => ({resource, title: resource.slice(10), status: 33, modifiedAt: '', movable: resource !== C, ...more});
const states = (chat: object = {}, session: object = {}): FakeStates => ({
  root: {agents: [{provider: 'p', displayName: 'Agent P', description: '', models: [{id: 'm', provider: 'p', name: 'Model M'}], capabilities: {multipleChats: {fork: true}}}]},
  channels: {
    [S]: {provider: 'p', title: 'The session', status: 1, lifecycle: 'ready', activeClients: [], chats: [summary(C), summary(SECOND)], defaultChat: C, ...session},
    [C]: {resource: C, title: 'c', status: 33, modifiedAt: '', turns: [turn('t1', 'one'), turn('t2', 'two'), turn('t3', 'three')], ...chat},
  },
  answers: {createChat: () => null, moveChat: () => ({session: S}), disposeChat: () => null},
});

describe('the head of a chat', () => {
  it('tells what it is about, who answers, and that nothing is asked', () => {
    shown = show(<ChatPage session={S} />, fakeStore(states({}, {config: {schema: {type: 'object', properties: {}}, values: {autoApprove: 'autoApprove'}}})));
    expect(shown.find('h1').textContent).toBe('The session');
    expect(shown.find('.chat-who').textContent).toBe('Agent PModel M');
    expect(shown.button('Approvals: Allow everything').getAttribute('aria-disabled')).toBe('true');
  });

  const property = {type: 'string', title: 'Approvals', enum: ['default', 'edits', 'autoApprove'], enumLabels: ['Ask first', 'Allow edits'], default: 'default', sessionMutable: true};
  const withModes = (more: object = {}): FakeStates => states({activeTurn: {id: 'now', startedAt: '2026-01-01T00:00:00Z', message: {text: '', origin: {kind: 'user'}}, responseParts: []}}, {config: {schema: {type: 'object', properties: {autoApprove: {...property, ...more}}}, values: {}}});

  it('changes what runs without asking, also in a turn, and tells a refusal', async () => {
    shown = show(<><ChatPage session={S} /><Toasts /></>, fakeStore(withModes()));
    shown.doing(() => shown.button('Approvals: Ask first').click());
    const offered = [...shown.box.querySelectorAll<HTMLElement>('[role="menuitemradio"]')];
    expect(offered.map(item => item.textContent)).toEqual([expect.stringMatching(/^Ask first/), expect.stringMatching(/^Allow edits/), expect.stringMatching(/^Allow everything/)]);
    expect(offered.map(item => item.getAttribute('aria-checked'))).toEqual(['true', 'false', 'false']);
    shown.doing(() => offered[1]!.click());
    expect(shown.store.acts.at(-1)).toMatchObject({uri: S, action: {type: 'session/configChanged', config: {autoApprove: 'edits'}}});
    expect(shown.button('Approvals: Allow edits')).toBeTruthy();
    shown.doing(() => shown.store.acts.at(-1)!.end('refused', 'not in this session'));
    await vi.waitFor(() => expect(shown.box.textContent).toContain('The host refused: not in this session'));
    shown.doing(() => shown.button('Close').click());
  });

  it.each([
    ['one who may only look', {me: {name: 'v', role: 'viewer'} as const}, {}],
    ['a session that cannot change it', {}, {sessionMutable: false}],
  ])('shows the mode to %s, who cannot change it', (_, who, more) => {
    shown = show(<ChatPage session={S} />, fakeStore({...withModes(more), ...who}));
    shown.doing(() => shown.button('Approvals: Ask first').click());
    expect(shown.box.querySelector('[role="menu"]')).toBeNull();
  });

  const far = (meta: object): string[] => {
    shown = show(<ChatPage session={S} />, fakeStore(states({}, {_meta: {'agenthost/far': meta}})));
    return [...shown.box.querySelectorAll<HTMLAnchorElement>('.chat-far a')].map(link => link.href);
  };
  it('leads to the host at which the session really runs', () => {
    expect(far({host: 'office', session: 'ahp-session:/far', url: 'wss://office.example:8443/?tkn=secret'})).toEqual(['https://office.example:8443/s/far']);
    expect(shown.find('.chat-far').textContent).toBe('Open there: Runs at office');
  });
  it.each(['javascript:alert(1)', 'data:text/html,x', 'mailto:a@b.example', 'ws://', '', undefined])('does not lead to %s', url => {
    expect(far({host: 'office', session: 'ahp-session:/far', url})).toEqual([]);
    expect(shown.find('.chat-far').textContent).toBe('Runs at office');
  });

  it('makes a new chat and goes there', async () => {
    shown = show(<ChatPage session={S} />, fakeStore(states()));
    shown.doing(() => shown.button('New chat').click());
    await vi.waitFor(() => expect(route.value).toMatchObject({at: 'session', session: S, chat: shown.store.asks[0]?.params.chat}));
    expect(shown.store.asks[0]).toMatchObject({method: 'createChat', params: {channel: S}});
  });

  it('says when the session or the chat is gone', () => {
    const store = fakeStore({});
    const gone = {...store, session: (uri: string) => ({...store.session(uri), gone: {value: 'disposed'}})};
    shown = show(<ChatPage session={S} />, gone as unknown as typeof store);
    expect(shown.box.textContent).toContain('This session is not here any more: disposed');
  });
});

describe('reading', () => {
  it('marks a chat as read, and again when something new came', () => {
    shown = show(<ChatPage session={S} />, fakeStore(states({status: 1})));
    const marks = (): unknown[] => shown.store.acts.filter(act => act.action.type === 'chat/isReadChanged');
    expect(marks().length).toBe(1);
    shown.doing(() => shown.store.set(C, {...shown.store.chat(C).state.peek(), status: 1}));
    expect(marks().length).toBe(2);
  });

  it('leaves one alone that is read', () => {
    shown = show(<ChatPage session={S} />, fakeStore(states()));
    expect(shown.store.acts).toEqual([]);
  });
});

describe('tabs', () => {
  const tabs = (chat: string): Shown => {
    const store = fakeStore(states());
    const state = store.session(S).state.peek();
    shown = show(state ? <Tabs session={S} state={state} shown={chat} /> : null, store);
    return shown;
  };

  it('lead to the chats', () => {
    tabs(C);
    expect([...shown.box.querySelectorAll('a')].map(link => [link.textContent, link.getAttribute('aria-current')])).toEqual([['Main', 'page'], ['second', null]]);
  });

  it('move by their menu', async () => {
    tabs(SECOND);
    shown.doing(() => shown.button('Chat menu').click());
    shown.doing(() => shown.button('Move left').click());
    await vi.waitFor(() => expect(shown.store.asks).toEqual([{method: 'moveChat', params: {channel: SECOND, destination: {kind: 'session', session: S}}}]));
  });

  it('are disposed after a question', async () => {
    tabs(SECOND);
    shown.doing(() => shown.button('Chat menu').click());
    shown.doing(() => shown.button('Dispose chat').click());
    expect(shown.store.asks).toEqual([]);
    shown.doing(() => [...shown.box.querySelectorAll<HTMLButtonElement>('dialog button')].at(-1)?.click());
    await vi.waitFor(() => expect(shown.store.asks[0]?.method).toBe('disposeChat'));
  });
});

describe('the end of a turn', () => {
  function end(turnId: string, given: FakeStates = states(), role: 'owner' | 'viewer' = 'owner'): Shown {
    const store = fakeStore({...given, me: {name: 'me', role}});
    const followed = store.chat(C);
    const state = followed.state.peek();
    const row = state && (new RowMaker().rows(state, {open: new Set()}).find(each => each.key === `${turnId}/end`) as EndRow);
    go({at: 'session', session: S});
    shown = show(row ? <TranscriptProvider value={{at: {session: S, chat: C}, folds: new Folds(), followed}}><TurnEnd row={row} /></TranscriptProvider> : null, store);
    return shown;
  }

  it('tells what it took', () => {
    expect(end('t2').box.textContent).toContain('2 s1.2k tokens');
  });

  it('forks from there', async () => {
    end('t2');
    shown.doing(() => shown.button('Fork from here').click());
    await vi.waitFor(() => expect(shown.store.asks[0]?.params.source).toEqual({kind: 'fork', chat: C, turnId: 't2'}));
  });

  it('asks before it takes turns away, and keeps those before', () => {
    end('t2');
    shown.doing(() => shown.button('Edit from here').click());
    expect(shown.box.textContent).toContain('This removes this turn and 1 later one');
    expect(shown.store.acts).toEqual([]);
    shown.doing(() => shown.button('Remove and edit').click());
    expect(shown.store.acts.map(act => act.action)).toEqual([{type: 'chat/truncated', turnId: 't1'}]);
  });

  it('takes all away from the first on', () => {
    end('t1');
    shown.doing(() => shown.button('Edit from here').click());
    shown.doing(() => shown.button('Remove and edit').click());
    expect(shown.store.acts.map(act => act.action)).toEqual([{type: 'chat/truncated'}]);
  });

  it('does not offer it where the turn before is not loaded, or in the chat of a worker', () => {
    expect(end('t1', states({turnsNextCursor: 'more'})).box.querySelector('[aria-label="Edit from here"]')).toBeNull();
    shown.remove();
    expect(end('t2', states({interactivity: 'read-only'})).box.querySelector('[aria-label="Edit from here"], [aria-label="Fork from here"]')).toBeNull();
  });

  it('lets a viewer look, not act', () => {
    end('t2', states(), 'viewer');
    expect(shown.button('Fork from here').getAttribute('aria-disabled')).toBe('true');
    shown.doing(() => shown.button('Fork from here').click());
    expect(shown.store.asks).toEqual([]);
  });
});
