// @vitest-environment happy-dom
import {afterEach, beforeEach, describe, expect, it, vi} from 'vitest';
import type {Json, ToolCallState} from '../../src/ahp/index.ts';
import {settledOf} from '../../src/cards/acts.ts';
import {ApprovalCard} from '../../src/cards/approval_card.tsx';
import {CallNote} from '../../src/cards/call_note.tsx';
import '../../src/cards/index.ts';
import {ResultCard} from '../../src/cards/result_card.tsx';
import {AuthCard} from '../../src/cards/auth_card.tsx';
import {WaitingBar} from '../../src/cards/waiting_bar.tsx';
import {openIntake} from '../../src/composer/intake.ts';
import {callViews} from '../../src/ui/registry.tsx';
import {type Shown, show} from '../fakes/render.tsx';
import {type FakeStates, fakeStore} from '../fakes/store.ts';

let id = 0;
const SESSION = 'ahp-session:/s';
const CHAT = 'ahp-chat:/c';
const OPTIONS = [
  {id: 'allow-once', label: 'Allow once', kind: 'approve', group: 0},
  {id: 'allow-in-session', label: 'Allow in this session', kind: 'approve', group: 0},
  {id: 'deny', label: 'Deny', kind: 'deny', group: 1},
  {id: 'deny-with-reason', label: 'Deny with a reason', kind: 'deny', group: 1},
];

type Of<S extends string> = Extract<ToolCallState, {status: S}>;
const pending = (more: object = {}): Of<'pending-confirmation'> =>
  ({
    status: 'pending-confirmation', toolCallId: `call-${id}`, toolName: 'shell', displayName: 'Shell',
    confirmationTitle: 'Run this command?', invocationMessage: 'Run npm test', toolInput: 'npm test', options: OPTIONS, ...more,
  }) as Of<'pending-confirmation'>;
const running = (): ToolCallState => ({status: 'running', toolCallId: `call-${id}`, toolName: 'shell', displayName: 'Shell', invocationMessage: '', confirmed: 'user-action'});
const ref = () => ({session: SESSION, chat: CHAT, turn: 't', index: 0, call: `call-${id}`});
const chatWith = (call: object): Json => ({
  resource: CHAT, title: 'Chat', status: 24, modifiedAt: '2026-01-01T00:00:00.000Z', turns: [],
  activeTurn: {id: 't', startedAt: '2026-01-01T00:00:00.000Z', message: {text: 'x', origin: {kind: 'user'}}, responseParts: [{kind: 'toolCall', toolCall: call}]},
});

let shown: Shown;
let clock = 0;
function open(call = pending(), states: FakeStates = {}): void {
  shown = show(<ApprovalCard call={call} at={ref()} />, fakeStore({channels: {[CHAT]: chatWith(call)}, ...states}));
  settle();
}
/** Let the half second pass in which a new button is dead. */
const settle = (): void => void (clock += 1000);
const press = (name: string): void => shown.doing(() => shown.button(name).click());
const action = (): object | undefined => shown.store.acts.at(-1)?.action;

beforeEach(() => {
  id += 1;
  vi.spyOn(performance, 'now').mockImplementation(() => clock);
});
afterEach(() => {
  shown.remove();
  vi.restoreAllMocks();
});

describe('an approval card', () => {
  it('shows exactly what would run, with nothing hidden', () => {
    open(pending({toolInput: 'rm \u202Efdp.exe\u200B'}));
    expect(shown.find('pre').textContent).toBe('rm ⟨U+202E⟩fdp.exe⟨U+200B⟩');
    expect([...shown.box.querySelectorAll('mark')].map(mark => mark.textContent)).toEqual(['⟨U+202E⟩', '⟨U+200B⟩']);
    expect(shown.find('h2').textContent).toBe('Run this command?');
  });

  it('shows a title in markdown, with nothing hidden there either', () => {
    open(pending({confirmationTitle: {markdown: 'Run `npm\u200B test` &#x202E;?'}}));
    expect(shown.find('h2').textContent).toBe('Run npm⟨U+200B⟩ test &#x202E;?');
    expect(shown.find('h2 code').textContent).toBe('npm⟨U+200B⟩ test');
  });

  it('leaves the focus to the composer once it is answered from within', () => {
    open();
    const focused = vi.fn();
    const close = openIntake(CHAT, {fill: () => {}, focus: focused});
    press('Deny3');
    expect(focused).not.toHaveBeenCalled();
    shown.doing(() => shown.button('Allow once1').focus());
    press('Allow once1');
    expect(focused).toHaveBeenCalledOnce();
    close();
  });

  it("has the host's answers, deny left of approve", () => {
    open();
    const labels = [...shown.box.querySelectorAll('.cards-answer button > span')].map(label => label.textContent);
    expect(labels).toEqual(['Deny', 'Deny with a reason', 'Allow once', 'Allow in this session']);
  });

  it('sends the option that was chosen', () => {
    open();
    press('Allow once1');
    expect(action()).toEqual({type: 'chat/toolCallConfirmed', turnId: 't', toolCallId: `call-${id}`, approved: true, confirmed: 'user-action', selectedOptionId: 'allow-once'});
  });

  it('sends a denial', () => {
    open();
    press('Deny3');
    expect(action()).toMatchObject({approved: false, reason: 'denied', selectedOptionId: 'deny'});
  });

  it('asks for the reason where the host wants one', () => {
    open();
    press('Deny with a reason4');
    expect(shown.store.acts).toEqual([]);
    const [why, instead] = [...shown.box.querySelectorAll('input')];
    shown.doing(() => {
      why!.value = 'too early';
      why!.dispatchEvent(new Event('input', {bubbles: true}));
      instead!.value = 'run lint';
      instead!.dispatchEvent(new Event('input', {bubbles: true}));
    });
    settle();
    press('Deny with a reason');
    expect(action()).toMatchObject({approved: false, reasonMessage: 'too early', selectedOptionId: 'deny-with-reason', userSuggestion: {text: 'run lint'}});
  });

  it('is dead for half a second after it appears', () => {
    shown = show(<ApprovalCard call={pending()} at={ref()} />);
    press('Allow once1');
    expect(shown.store.acts).toEqual([]);
    clock += 499;
    press('Allow once1');
    expect(shown.store.acts).toEqual([]);
    clock += 1;
    press('Allow once1');
    expect(shown.store.acts).toHaveLength(1);
  });

  it('is dead again when what would run is another', () => {
    open();
    shown.again(<ApprovalCard call={pending({toolInput: 'rm -rf /'})} at={ref()} />);
    press('Allow once1');
    expect(shown.store.acts).toEqual([]);
  });

  it('takes no focus, and no bare letter answers it', () => {
    open();
    expect(document.activeElement).toBe(document.body);
    const card = shown.find('.cards-card');
    const key = (name: string): void => shown.doing(() => void card.dispatchEvent(new KeyboardEvent('keydown', {key: name, bubbles: true, cancelable: true})));
    for (const letter of ['y', 'a', 'Enter', ' ']) key(letter);
    expect(shown.store.acts).toEqual([]);
    key('2');
    expect(action()).toMatchObject({selectedOptionId: 'allow-in-session'});
  });

  it('allows an edited input as such', () => {
    open(pending({editable: true}));
    press('Edit');
    const field = shown.find<HTMLTextAreaElement>('textarea');
    expect(field.value).toBe('npm test');
    shown.doing(() => {
      field.value = 'npm test -- --ci';
      field.dispatchEvent(new Event('input', {bubbles: true}));
    });
    settle();
    expect(shown.box.textContent).not.toContain('Allow in this session');
    press('Allow edited1');
    expect(action()).toMatchObject({approved: true, editedToolInput: 'npm test -- --ci', selectedOptionId: 'allow-once'});
  });

  it('says what the judge and the tool say', () => {
    const session = {provider: 'demo', title: '', status: 1, lifecycle: 'ready', activeClients: [], chats: [], serverTools: [{name: 'shell', annotations: {destructiveHint: true}}]};
    open(pending({riskAssessment: {kind: 'judge', status: 'complete', safety: 0.1, reason: 'It deletes.'}}), {channels: {[SESSION]: session}});
    expect(shown.find('.cards-risk').textContent).toBe('Judged risky It deletes.Deletes or overwrites');
    shown.again(<ApprovalCard call={pending({riskAssessment: {kind: 'judge', status: 'loading'}})} at={ref()} />);
    expect(shown.find('.cards-risk').textContent).toContain('Judging...');
  });

  it('shows a refusal at its buttons', () => {
    open();
    press('Allow once1');
    expect(shown.box.textContent).toContain('Allowing...');
    shown.doing(() => shown.store.acts[0]?.end('refused', 'too late'));
    expect(shown.box.textContent).toContain('The host refused: too late');
  });

  it('cannot be used while disconnected or by a viewer, and says why', () => {
    open();
    shown.doing(() => void (shown.store.live.value = 'reconnecting'));
    press('Allow once1');
    expect(shown.store.acts).toEqual([]);
    expect(shown.button('Allow once1').getAttribute('aria-disabled')).toBe('true');
    shown.doing(() => {
      shown.store.live.value = 'live';
      shown.store.me.value = {name: 'guest', role: 'viewer'};
    });
    press('Allow once1');
    expect(shown.store.acts).toEqual([]);
    expect(shown.button('Allow once1').title).toBe('You can look, not act.');
  });

  it('reads an input that is kept elsewhere', async () => {
    open(pending({toolInput: {uri: 'ahp-content:/x'}}), {answers: {resourceRead: () => ({data: 'long input', encoding: 'utf-8'})}});
    expect(shown.box.textContent).not.toContain('Allow once');
    await vi.waitFor(() => expect(shown.find('pre').textContent).toBe('long input'));
    expect(shown.box.textContent).toContain('Allow once');
  });

  it('allows nothing that could not be read, and can deny it', async () => {
    open(pending({toolInput: {uri: 'ahp-content:/x'}}), {answers: {resourceRead: () => { throw new Error('gone'); }}});
    await vi.waitFor(() => expect(shown.box.textContent).toContain('so it cannot be allowed here'));
    expect(shown.box.textContent).not.toContain('Allow once');
    expect(shown.box.textContent).toContain('Deny');
  });

  it('shows nothing of an input that was replaced by another, which is not here yet', async () => {
    const call = (name: string) => pending({toolInput: {uri: `ahp-content:/${name}`}});
    const read = (params: {uri: string}): unknown => (params.uri.endsWith('/a') ? {data: 'ls', encoding: 'utf-8'} : new Promise(() => {}));
    open(call('a'), {answers: {resourceRead: read as never}});
    await vi.waitFor(() => expect(shown.find('pre').textContent).toBe('ls'));
    shown.again(<ApprovalCard call={call('b')} at={ref()} />);
    expect(shown.box.querySelector('pre')).toBeNull();
    expect(shown.box.textContent).toContain('Loading the input...');
  });

  it('names the folder of a file that would be changed', () => {
    const side = (name: string) => ({uri: `file:///root/.ssh/${name}`, content: {uri: 'ahp-content:/x'}});
    open(pending({edits: {items: [{before: side('config'), after: side('config')}]}}));
    expect(shown.find('.cards-edit-head').textContent).toContain('/root/.ssh');
  });

  it('leaves its focus to the transcript when it goes', () => {
    const feed = (isThere: boolean) => <div role="feed" tabIndex={0}>{isThere && <ApprovalCard call={pending()} at={ref()} />}</div>;
    shown = show(feed(true), fakeStore());
    shown.doing(() => shown.button('Allow once1').focus());
    shown.again(feed(false));
    expect(document.activeElement?.getAttribute('role')).toBe('feed');
  });

  it('cuts a long input only until asked for', () => {
    open(pending({toolInput: Array.from({length: 1204}, (_, n) => `line ${n}`).join('\n')}));
    expect(shown.find('pre').textContent).not.toContain('line 40');
    press('Show all 1,204 lines');
    expect(shown.find('pre').textContent).toContain('line 1203');
  });
});

describe('an answer', () => {
  it('given elsewhere is told as such', () => {
    const call = pending();
    const store = fakeStore({channels: {[CHAT]: chatWith(call)}});
    const followed = store.chat(CHAT).state;
    shown = show(<><WaitingBar at={ref()} chat={followed} session={store.session(SESSION).state} /><CallNote call={running()} at={ref()} /></>, store);
    shown.doing(() => store.apply(CHAT, {type: 'chat/toolCallConfirmed', turnId: 't', toolCallId: call.toolCallId, approved: true, confirmed: 'user-action'}));
    expect(shown.box.textContent).toContain('Answered in another window');
    expect(settledOf(CHAT, call.toolCallId).value.elsewhere).toBe(true);
  });

  it('is not given by stopping the turn', () => {
    const call = pending();
    const store = fakeStore({channels: {[CHAT]: chatWith(call)}});
    shown = show(<><WaitingBar at={ref()} chat={store.chat(CHAT).state} session={store.session(SESSION).state} /><CallNote call={running()} at={ref()} /></>, store);
    shown.doing(() => store.apply(CHAT, {type: 'chat/turnCancelled', turnId: 't', duration: 1}));
    expect(shown.box.textContent).toBe('');
  });

  it('given here is told as under way, then not at all', () => {
    const call = pending();
    const store = fakeStore({channels: {[CHAT]: chatWith(call)}});
    shown = show(<><WaitingBar at={ref()} chat={store.chat(CHAT).state} session={store.session(SESSION).state} /><ApprovalCard call={call} at={ref()} /></>, store);
    settle();
    press('Allow once1');
    shown.again(<CallNote call={running()} at={ref()} />);
    expect(shown.box.textContent).toBe('Allowing...');
    shown.doing(() => store.acts[0]?.end('done'));
    expect(shown.box.textContent).toBe('');
  });
});

describe('a result', () => {
  const result = (): Of<'pending-result-confirmation'> =>
    ({status: 'pending-result-confirmation', toolCallId: `call-${id}`, toolName: 'report', displayName: 'Report', invocationMessage: 'Write', pastTenseMessage: 'Wrote a report', success: true, confirmed: 'not-needed'}) as Of<'pending-result-confirmation'>;

  it.each([['Use it1', true], ['Discard2', false]])('is settled by %s', (button, approved) => {
    shown = show(<ResultCard call={result()} at={ref()} />);
    settle();
    expect(shown.box.textContent).toContain('Use this result?');
    press(button);
    expect(action()).toEqual({type: 'chat/toolCallResultConfirmed', turnId: 't', toolCallId: `call-${id}`, approved});
  });
});

describe('a call to a server', () => {
  const call = (more: object = {}): Of<'pending-confirmation'> => pending({toolName: 'time__get_current_time', displayName: 'Get current time', toolInput: '{"timezone": "Europe/Berlin", "places": [1, {}], "timezone": "Asia/Tokyo"}', contributor: {kind: 'mcp', customizationId: 'c-time'}, _meta: {mcpServerName: 'bank'}, ...more});
  const customizations = [{type: 'plugin', id: 'p', uri: 'file:///p', name: 'Plug', children: [{type: 'mcpServer', id: 'c-time', uri: 'file:///p/.mcp.json', name: 'time\u202e', state: {kind: 'ready'}}]}];
  const facts = (): (string | null)[] => [...shown.box.querySelectorAll('.cards-source dd')].map(fact => fact.textContent);

  it('shows the server, its tool, and every argument on a line', () => {
    open(call(), {channels: {[SESSION]: {customizations, activeClients: [], chats: []}}});
    expect(facts()).toEqual(['time⟨U+202E⟩', 'get_current_time']);
    expect(shown.find('pre').textContent).toBe('{\n  "timezone": "Europe/Berlin",\n  "places": [\n    1,\n    {}\n  ],\n  "timezone": "Asia/Tokyo"\n}');
  });

  it('is not taken for that of a server which it only says to be of', () => {
    open(call({contributor: {kind: 'mcp', customizationId: 'c-other'}}), {channels: {[SESSION]: {customizations, activeClients: [], chats: []}}});
    expect(facts()[0]).toBe('One that this session does not list');
    expect(shown.box.textContent).not.toContain('bank');
  });
});

describe('a call that wants a sign-in', () => {
  const call = (): Of<'auth-required'> =>
    ({
      status: 'auth-required', toolCallId: `call-${id}`, toolName: 'search', displayName: 'Search', invocationMessage: 'Search', confirmed: 'not-needed',
      contributor: {kind: 'mcp', customizationId: 'm'},
      auth: {reason: 'expired', resource: {resource: 'https://mcp.example', resource_name: 'Example', authorization_servers: ['javascript:alert(1)', 'https://login.example']}, requiredScopes: ['read']},
    }) as unknown as Of<'auth-required'>;

  it('says whose, takes a token, and opens no strange address', async () => {
    shown = show(<AuthCard call={call()} at={ref()} />, fakeStore({answers: {authenticate: () => ({})}}));
    expect(shown.find('h2').textContent).toBe('Example needs you to sign in');
    expect([...shown.box.querySelectorAll('a')].map(link => link.getAttribute('href'))).toEqual(['https://login.example/']);
    const field = shown.find<HTMLInputElement>('input[type=password]');
    shown.doing(() => {
      field.value = 'secret';
      field.dispatchEvent(new Event('input', {bubbles: true}));
    });
    shown.doing(() => void shown.find('form').dispatchEvent(new Event('submit', {bubbles: true, cancelable: true})));
    await vi.waitFor(() => expect(shown.store.asks).toEqual([{method: 'authenticate', params: {resource: 'https://mcp.example', token: 'secret', scopes: ['read']}}]));
    await vi.waitFor(() => expect(field.value).toBe(''));
  });

  it('can be given up', () => {
    shown = show(<AuthCard call={call()} at={ref()} />);
    settle();
    press('Cancel the call');
    expect(action()).toMatchObject({type: 'chat/toolCallComplete', result: {success: false, error: {code: 'cancelled'}}});
  });
});

it('every waiting state of a call has its card', () => {
  shown = show(<i />);
  for (const status of ['pending-confirmation', 'pending-result-confirmation', 'auth-required']) expect(callViews.has(status)).toBe(true);
});
