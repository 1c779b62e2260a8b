// @vitest-environment happy-dom
import {afterEach, beforeEach, describe, expect, test, vi} from 'vitest';
import {LinkLost} from '../../src/ahp/index.ts';
import {IDLE, INPUT_NEEDED, IS_ARCHIVED, IS_READ} from '../../src/ahp/status.ts';
import {go, route} from '../../src/route.ts';
import {dispose, hidden} from '../../src/sessions/dispose.ts';
import {SessionListPane} from '../../src/sessions/list.tsx';
import {mute, muted} from '../../src/sessions/muted.ts';
import {query, shown} from '../../src/sessions/use_list.ts';
import {Toasts} from '../../src/ui/toast.tsx';
import {type Shown, show} from '../fakes/render.tsx';
import {type FakeStates, fakeStore} from '../fakes/store.ts';

const at = (minute: number): string => new Date(Date.UTC(2026, 10, 16, 8, minute)).toISOString();
const session = (id: string, changes: object = {}): object => ({
  resource: `ahp-session:/${id}`, provider: 'demo', title: id, status: IDLE | IS_READ, createdAt: at(0), modifiedAt: at(1), ...changes,
});
const CHAT = 'ahp-chat://default/x';
const toolCall = {toolCallId: 'c1', toolName: 'run', displayName: 'Run', invocationMessage: 'Run it', toolInput: 'npm test', status: 'pending-confirmation',
  options: [{id: 'once', label: 'Allow once', kind: 'approve'}, {id: 'no', label: 'Deny', kind: 'deny'}]};
const waiting = (call: object = {}): never => ({session: 'ahp-session:/a', chat: CHAT, since: 1, request: {id: 'r1', chat: CHAT, kind: 'toolConfirmation', turnId: 't1', toolCall: {...toolCall, ...call}}}) as never;

let page: Shown;
const open = (states: FakeStates, onlyWaiting = false): Shown => (page = show(<><SessionListPane onlyWaiting={onlyWaiting} /><Toasts /></>, fakeStore(states)));
const titles = (): (string | null)[] => [...page.box.querySelectorAll('.sessions-title')].map(title => title.textContent);

beforeEach(() => {
  vi.stubGlobal('IntersectionObserver', class { observe(): void {} disconnect(): void {} });
  query.value = '';
  shown.value = 'current';
  hidden.value = new Set();
  go({at: 'list'});
});
afterEach(() => {
  page?.remove();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe('the list', () => {
  test('is empty in words, with a way on', () => {
    open({});
    expect(page.box.textContent).toContain('No sessions yet.');
    page.doing(() => page.button('New session').click());
    expect(route.value).toEqual({at: 'new'});
  });

  test.each(['connecting', 'live', 'reconnecting'] as const)('%s, and not read yet, it is awaited and not called empty', live => {
    open({live, listed: false});
    expect(page.box.textContent).not.toContain('No sessions yet.');
    expect(page.box.querySelector('.ui-skeleton')).not.toBeNull();
    page.doing(() => void (page.store.listed.value = true));
    expect(page.box.textContent).toContain('No sessions yet.');
  });

  test.each(['failed', 'offline', 'superseded'] as const)('%s, and never read, it says nothing of what there is', live => {
    for (const onlyWaiting of [false, true]) {
      open({live, listed: false}, onlyWaiting);
      expect(page.find('.sessions-list').childElementCount).toBe(0);
      page.remove();
    }
  });

  test('a click on a row opens its session', () => {
    open({sessions: [session('a')]});
    page.doing(() => page.find('.sessions-link').click());
    expect(route.value).toEqual({at: 'session', session: 'ahp-session:/a'});
    expect(page.find('.sessions-link').getAttribute('aria-current')).toBe('page');
  });

  test('each status has a word beside its shape', () => {
    open({sessions: [session('a', {status: IDLE}), session('b', {status: 8}), session('c', {status: 2})]});
    const status = [...page.box.querySelectorAll('.sessions-glyph')].map(glyph => glyph.textContent);
    expect(status.toSorted()).toEqual(['Error', 'Unread', 'Working']);
  });

  test('search and filter choose rows', () => {
    open({sessions: [session('login'), session('docs'), session('old', {status: IDLE | IS_ARCHIVED})]});
    expect(titles()).toEqual(['login', 'docs']);
    page.doing(() => void (query.value = 'doc'));
    expect(titles()).toEqual(['docs']);
    page.doing(() => {
      query.value = '';
      shown.value = 'archived';
    });
    expect(titles()).toEqual(['old']);
  });

  test("on the phone's first tab only what waits shows, else that nothing does", () => {
    open({sessions: [session('a', {status: INPUT_NEEDED}), session('b')], waiting: [waiting()]}, true);
    expect(titles()).toEqual(['a']);
    page.remove();
    open({sessions: [session('b')]}, true);
    expect(page.box.textContent).toContain('Nothing needs you.');
  });
});

describe('kept still', () => {
  test('while the pointer is in it, rows stay and the updates are counted', () => {
    open({sessions: [session('a', {modifiedAt: at(5)}), session('b', {modifiedAt: at(2)})]});
    page.doing(() => void page.find('.sessions-room').dispatchEvent(new PointerEvent('pointerenter')));
    page.doing(() => void (page.store.sessions.value = [session('new', {modifiedAt: at(9)}), ...page.store.sessions.value] as never));
    expect(titles()).toEqual(['a', 'b']);
    const updates = page.find('.sessions-updates button');
    expect(updates.textContent).toContain('1 update');
    page.doing(() => updates.click());
    expect(titles()).toEqual(['new', 'a', 'b']);
  });

  test('what came to need somebody is said so', () => {
    open({sessions: [session('a'), session('b')]});
    page.doing(() => void page.find('.sessions-room').dispatchEvent(new PointerEvent('pointerenter')));
    page.doing(() => void (page.store.sessions.value = [session('a', {status: INPUT_NEEDED}), session('b')] as never));
    expect(titles()).toEqual(['a', 'b']);
    expect(page.find('.sessions-updates button').textContent).toContain('1 needs you');
  });

  test('it is let go when the pointer turns up elsewhere, even if nothing told that it left', () => {
    open({sessions: [session('a')]});
    page.doing(() => void page.find('.sessions-room').dispatchEvent(new PointerEvent('pointerenter')));
    page.doing(() => void document.body.dispatchEvent(new PointerEvent('pointerover', {bubbles: true})));
    page.doing(() => void (page.store.sessions.value = [session('z', {modifiedAt: at(9)}), ...page.store.sessions.value] as never));
    expect(titles()).toEqual(['z', 'a']);
  });

  test('it is let go when the pointer leaves', () => {
    open({sessions: [session('a')]});
    page.doing(() => void page.find('.sessions-room').dispatchEvent(new PointerEvent('pointerenter')));
    page.doing(() => void (page.store.sessions.value = [session('z', {modifiedAt: at(9)}), ...page.store.sessions.value] as never));
    page.doing(() => void page.find('.sessions-room').dispatchEvent(new PointerEvent('pointerleave')));
    expect(titles()).toEqual(['z', 'a']);
  });
});

describe('a waiting row', () => {
  const states = {sessions: [session('a', {status: INPUT_NEEDED})], waiting: [waiting()]};

  test('is approved by the host’s option, but not in the first half second', () => {
    let now = 1000;
    vi.spyOn(performance, 'now').mockImplementation(() => now);
    open(states);
    const allow = page.find<HTMLButtonElement>('.ui-guarded button');
    page.doing(() => allow.click());
    expect(page.store.acts).toEqual([]);
    now += 600;
    page.doing(() => allow.click());
    expect(page.store.acts.map(act => [act.uri, act.action])).toEqual([
      [CHAT, {type: 'chat/toolCallConfirmed', turnId: 't1', toolCallId: 'c1', approved: true, confirmed: 'user-action', selectedOptionId: 'once'}],
    ]);
    expect(page.box.textContent).toContain('Allowing...');
    page.doing(() => page.store.acts[0]!.end('refused', 'too late'));
    expect(page.box.textContent).toContain('The host refused: too late');
    vi.restoreAllMocks();
  });

  test.each([
    ['the next request', {request: {...(waiting({toolCallId: 'c2', toolInput: 'rm -rf /'}) as {request: object}).request, id: 'r2'}}],
    ['other input', waiting({toolInput: 'rm -rf /'})],
  ])('%s in the place of what was there is dead for its own half second', (_, next) => {
    let now = 1000;
    vi.spyOn(performance, 'now').mockImplementation(() => now);
    open(states);
    now += 600;
    page.doing(() => void (page.store.waiting.value = [{...(waiting() as object), ...(next as object)} as never]));
    expect(page.find('.sessions-ask-input').textContent).toBe('rm -rf /');
    page.doing(() => page.find('.ui-guarded button').click());
    expect(page.store.acts).toEqual([]);
    vi.restoreAllMocks();
  });

  test('the next request is asked, whatever became of the one before', () => {
    let now = 1000;
    vi.spyOn(performance, 'now').mockImplementation(() => now);
    open(states);
    now += 600;
    page.doing(() => page.find('.ui-guarded button').click());
    page.doing(() => page.store.acts[0]!.end('done'));
    const next = waiting({toolCallId: 'c2'}) as {request: object};
    page.doing(() => void (page.store.waiting.value = [{...next, request: {...next.request, id: 'r2'}} as never]));
    expect(page.box.textContent).not.toContain('Allowed');
    expect(page.find('.sessions-ask-buttons').textContent).toContain('Allow once');
    vi.restoreAllMocks();
  });

  test('offers only a review for what is not wholly in view', () => {
    open({...states, waiting: [waiting({toolInput: 'a\nb\nc'})]});
    expect(page.box.querySelector('.ui-guarded')).toBeNull();
    expect(page.find('.sessions-ask-buttons').textContent).toBe('Review');
  });

  test('spells out characters that hide, and does not offer to allow them here', () => {
    open({...states, waiting: [waiting({toolInput: 'rm \u202ex'})]});
    expect(page.find('.sessions-ask-input').textContent).toBe('rm ⟨U+202E⟩x');
    expect(page.box.querySelector('.ui-guarded')).toBeNull();
  });

  test('answered elsewhere while somebody is in the list, it says so', () => {
    open(states);
    page.doing(() => void page.find('.sessions-room').dispatchEvent(new PointerEvent('pointerenter')));
    page.doing(() => void (page.store.waiting.value = []));
    expect(page.box.textContent).toContain('Answered in another window');
    expect(page.box.querySelector('.ui-guarded')).toBeNull();
  });
});

describe('disposing', () => {
  const states = {sessions: [session('a'), session('b')]};

  test('goes out of the list at once, and is held back for eight seconds', () => {
    vi.useFakeTimers();
    open({...states, answers: {disposeSession: () => null}});
    page.doing(() => dispose(page.store, 'ahp-session:/a'));
    expect(titles()).toEqual(['b']);
    page.doing(() => void vi.advanceTimersByTime(7900));
    expect(page.store.asks).toEqual([]);
    page.doing(() => void vi.advanceTimersByTime(200));
    expect(page.store.asks).toEqual([{method: 'disposeSession', params: {channel: 'ahp-session:/a'}}]);
  });

  test('who undoes it has asked for nothing, and sees the row come and go although the pointer is in the list', () => {
    open(states);
    page.doing(() => void page.find('.sessions-room').dispatchEvent(new PointerEvent('pointerenter')));
    page.doing(() => dispose(page.store, 'ahp-session:/a'));
    expect(titles()).toEqual(['b']);
    page.doing(() => page.button('Undo').click());
    expect(titles()).toEqual(['a', 'b']);
    expect(page.store.asks).toEqual([]);
  });

  test('a lost answer is told as such, not as a refusal', async () => {
    vi.useFakeTimers();
    open({...states, answers: {disposeSession: () => { throw new LinkLost('gone'); }}});
    page.doing(() => dispose(page.store, 'ahp-session:/a'));
    await vi.advanceTimersByTimeAsync(8100);
    expect(page.box.textContent).toContain('Sent, but the answer was lost.');
  });

  test('a refusal brings the row back and says why', async () => {
    vi.useFakeTimers();
    open({...states, answers: {disposeSession: () => { throw new Error('busy'); }}});
    page.doing(() => dispose(page.store, 'ahp-session:/a'));
    await vi.advanceTimersByTimeAsync(8100);
    expect(titles()).toEqual(['a', 'b']);
    expect(page.box.textContent).toContain('The host refused: busy');
  });
});

describe('the menu', () => {
  const item = (name: string): HTMLElement => [...page.box.querySelectorAll<HTMLElement>('[role^="menuitem"]')].find(one => one.textContent === name)!;
  const openMenu = (): void => page.doing(() => page.button('More about a').click());

  test('archives, and the list follows although the focus is in it', () => {
    open({sessions: [session('a'), session('b')], channels: {}});
    openMenu();
    page.doing(() => item('Archive').click());
    expect(page.store.acts.map(act => act.action)).toEqual([{type: 'session/isArchivedChanged', isArchived: true}]);
    page.doing(() => void (page.store.sessions.value = [session('a', {status: IDLE | IS_ARCHIVED}), session('b')] as never));
    expect(titles()).toEqual(['b']);
  });

  test('renames in a dialog', () => {
    open({sessions: [session('a')]});
    openMenu();
    page.doing(() => item('Rename').click());
    const input = page.find<HTMLInputElement>('dialog input');
    input.value = ' Better ';
    page.doing(() => void input.dispatchEvent(new Event('input', {bubbles: true})));
    page.doing(() => void page.find('dialog form').dispatchEvent(new Event('submit', {bubbles: true, cancelable: true})));
    expect(page.store.acts.map(act => act.action)).toEqual([{type: 'session/titleChanged', title: 'Better'}]);
  });

  test('mutes on this device', () => {
    open({sessions: [session('a')]});
    openMenu();
    page.doing(() => item('Mute on this device').click());
    expect([...muted.value]).toEqual(['ahp-session:/a']);
    expect(page.box.querySelector('[aria-label="Muted"]')).not.toBeNull();
    mute('ahp-session:/a', false);
  });

  test('forks from the newest turn and goes there', async () => {
    const SESSION = {resource: 'ahp-session:/a', provider: 'demo', title: 'a', status: 1, lifecycle: 'ready', activeClients: [], chats: [], defaultChat: CHAT};
    open({
      sessions: [session('a')],
      channels: {'ahp-session:/a': SESSION, [CHAT]: {resource: CHAT, title: 'a', status: 1, turns: [{id: 't1'}, {id: 't2'}]}},
      answers: {createSession: () => null},
    });
    openMenu();
    page.doing(() => item('Fork').click());
    await vi.waitFor(() => expect(page.store.asks).toHaveLength(1));
    expect(page.store.asks[0]!.params._meta).toEqual({'agenthost/fork': {session: 'ahp-session:/a', turnId: 't2'}});
    await vi.waitFor(() => expect(route.value).toEqual({at: 'session', session: page.store.asks[0]!.params.channel}));
    expect([...page.store.following].filter(([uri, count]) => uri !== 'ahp-root://' && count > 0)).toEqual([]);
  });

  test('what asks the host is unusable, with the reason, while disconnected', () => {
    open({sessions: [session('a')], live: 'reconnecting'});
    openMenu();
    expect(item('Archive').getAttribute('aria-disabled')).toBe('true');
    page.doing(() => item('Archive').click());
    expect(page.store.acts).toEqual([]);
  });
});
