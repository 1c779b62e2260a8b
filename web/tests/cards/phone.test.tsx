// @vitest-environment happy-dom
import {afterEach, beforeEach, describe, expect, it, vi} from 'vitest';
import {signal} from '@preact/signals';
import type {Json, ToolCallState} from '../../src/ahp/index.ts';
import {ApprovalRow} from '../../src/cards/approval_card.tsx';
import '../../src/cards/index.ts';
import {closeCard, openFirst} from '../../src/cards/open_card.ts';
import {RequestPart} from '../../src/cards/questions/request.tsx';
import {WaitingBar} from '../../src/cards/waiting_bar.tsx';
import {type Shown, show} from '../fakes/render.tsx';
import {type FakeStore, fakeStore} from '../fakes/store.ts';

vi.mock('../../src/ui/width.ts', () => ({width: signal('phone')}));

const SESSION = 'ahp-session:/s';
const CHAT = 'ahp-chat:/c';
let id = 0;
let clock = 0;
let shown: Shown;
let store: FakeStore;

const call = (): ToolCallState =>
  ({status: 'pending-confirmation', toolCallId: `call-${id}`, toolName: 'shell', displayName: 'Shell', confirmationTitle: 'Run this command?', invocationMessage: 'Run npm test', toolInput: 'npm test'}) as ToolCallState;
const request = (): object => ({id: `call-${id}`, message: 'Which port?', questions: [{id: 'port', kind: 'integer', message: 'Port?'}]});
const chatWith = (part: object): Json => ({
  resource: CHAT, title: 'Chat', status: 24, modifiedAt: '2026-01-01T00:00:00.000Z', turns: [],
  activeTurn: {id: 't', startedAt: '2026-01-01T00:00:00.000Z', message: {text: 'x', origin: {kind: 'user'}}, responseParts: [part]},
});
const session = (inputNeeded: object[] = []): Json => ({provider: 'demo', title: '', status: 24, lifecycle: 'ready', activeClients: [], chats: [{resource: 'ahp-chat:/w', title: 'Worker 1'}], inputNeeded});
const ref = () => ({session: SESSION, chat: CHAT, turn: 't', index: 0, call: `call-${id}`});

function open(part: object, needed: object[] = []): void {
  store = fakeStore({channels: {[CHAT]: chatWith(part), [SESSION]: session(needed)}});
  shown = show(<WaitingBar at={ref()} chat={store.chat(CHAT).state} session={store.session(SESSION).state} />, store);
}
const bar = (): HTMLElement => shown.find('.cards-bar');
const dialog = (): HTMLElement | null => shown.box.querySelector('dialog');
const press = (name: string): void => shown.doing(() => shown.button(name).click());

beforeEach(() => {
  id += 1;
  vi.spyOn(performance, 'now').mockImplementation(() => clock);
});
afterEach(() => {
  shown.doing(() => closeCard());
  shown.remove();
  vi.restoreAllMocks();
});

describe('on a phone', () => {
  it('a bar says what waits, and opens the whole of it', () => {
    open({kind: 'toolCall', toolCall: call()});
    expect(bar().textContent).toBe('Waiting: Run npm test');
    expect(dialog()).toBeNull();
    shown.doing(() => bar().click());
    expect(dialog()?.textContent).toContain('npm test');
    clock += 1000;
    press('Allow1');
    expect(store.acts[0]?.action).toMatchObject({type: 'chat/toolCallConfirmed', approved: true});
    expect(dialog()?.textContent).toContain('Allowing...');
    shown.doing(() => store.acts[0]?.end('done'));
    expect(dialog()).toBeNull();
  });

  it('what is answered elsewhere meanwhile says so, and stays until it is closed', () => {
    open({kind: 'toolCall', toolCall: call()});
    shown.doing(() => bar().click());
    shown.doing(() => store.apply(CHAT, {type: 'chat/toolCallConfirmed', turnId: 't', toolCallId: `call-${id}`, approved: true, confirmed: 'user-action'}));
    expect(dialog()?.textContent).toContain('Answered in another window');
    expect(shown.box.querySelector('.cards-bar')).toBeNull();
    shown.doing(() => [...dialog()!.querySelectorAll('button')].at(-1)!.click());
    expect(dialog()).toBeNull();
  });

  it('an answer that is refused leaves the card open, with the reason', () => {
    open({kind: 'toolCall', toolCall: call()});
    shown.doing(() => bar().click());
    clock += 1000;
    press('Deny2');
    shown.doing(() => {
      store.acts[0]?.end('refused', 'too late');
      store.set(CHAT, chatWith({kind: 'toolCall', toolCall: call()}));
    });
    expect(dialog()?.textContent).toContain('The host refused: too late');
    expect(dialog()?.textContent).toContain('npm test');
  });

  it('questions open in the same way', () => {
    open({kind: 'inputRequest', request: request()});
    expect(bar().textContent).toBe('Waiting: Which port?');
    shown.doing(() => bar().click());
    expect(dialog()?.querySelector('input')).toBeTruthy();
  });

  it('the transcript has only the beginning, which a viewer can open too', () => {
    open({kind: 'toolCall', toolCall: call()});
    store.me.value = {name: 'guest', role: 'viewer'};
    shown.again(<><ApprovalRow call={call()} at={ref()} /><WaitingBar at={ref()} chat={store.chat(CHAT).state} session={store.session(SESSION).state} /></>);
    press('Review');
    expect(dialog()?.textContent).toContain('npm test');
    expect([...dialog()!.querySelectorAll('.cards-answer button')].map(button => button.getAttribute('aria-disabled'))).toEqual(['true', 'true']);
  });

  it('what one comes to review opens by itself, once it is known', () => {
    open({kind: 'markdown', id: 'm', content: ''});
    shown.doing(() => openFirst(CHAT));
    expect(dialog()).toBeNull();
    shown.doing(() => store.set(CHAT, chatWith({kind: 'toolCall', toolCall: call()})));
    expect(dialog()?.textContent).toContain('npm test');
  });

  it('what is asked later does not open by itself', () => {
    vi.useFakeTimers();
    open({kind: 'markdown', id: 'm', content: ''});
    shown.doing(() => openFirst(CHAT));
    shown.doing(() => void vi.advanceTimersByTime(5000));
    shown.doing(() => store.set(CHAT, chatWith({kind: 'toolCall', toolCall: call()})));
    expect(dialog()).toBeNull();
    vi.useRealTimers();
  });

  it('a request in the transcript offers to answer', () => {
    store = fakeStore();
    shown = show(<RequestPart part={{kind: 'inputRequest', request: request()} as never} at={ref()} running />, store);
    expect(shown.button('Answer')).toBeTruthy();
  });
});

it('what waits in another chat of the session is answered there', () => {
  const needed = {id: 'n', chat: 'ahp-chat:/w', kind: 'toolConfirmation', turnId: 'wt', toolCall: {...call(), toolCallId: 'other'}};
  open({kind: 'markdown', id: 'm', content: ''}, [needed]);
  expect(bar().textContent).toBe('Waiting in Worker 1: Run npm test');
  shown.doing(() => bar().click());
  clock += 1000;
  press('Allow1');
  expect(store.acts[0]).toMatchObject({uri: 'ahp-chat:/w', action: {turnId: 'wt', toolCallId: 'other'}});
});
