// @vitest-environment happy-dom
import {afterEach, beforeEach, describe, expect, it, vi} from 'vitest';
import type {Json} from '../../src/ahp/index.ts';
import {placeAt} from '../../src/composer/drag_order.ts';
import {QueueList} from '../../src/composer/queue_list.tsx';
import {type Shown, show} from '../fakes/render.tsx';
import {fakeStore} from '../fakes/store.ts';

const AT = {session: 'ahp-session:/s', chat: 'ahp-chat:/c'};
const said = (text: string): object => ({text, origin: {kind: 'user'}});
const waits = (...names: string[]): object[] => names.map(name => ({id: name, message: said(`say ${name}`)}));
const chat = (more: object): Json => ({
  resource: AT.chat, title: '', status: 8, modifiedAt: '2026-01-01T00:00:00.000Z', turns: [],
  activeTurn: {id: 't', startedAt: '2026-01-01T00:00:00.000Z', message: said('x'), responseParts: []}, ...more,
});

let shown: Shown;
function open(state: Json): void {
  const store = fakeStore({channels: {[AT.chat]: state}});
  shown = show(<QueueList at={AT} chat={store.chat(AT.chat).state} />, store);
}
const rows = (): string[] => [...shown.box.querySelectorAll('.composer-queued .composer-waits-text')].map(row => row.textContent ?? '');
const press = (name: string): void => shown.doing(() => shown.button(name).click());
const actions = (): object[] => shown.store.acts.map(act => act.action);

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  shown.remove();
  vi.useRealTimers();
});

describe('queued messages', () => {
  it('move by Alt and the arrows', () => {
    open(chat({queuedMessages: waits('a', 'b', 'c')}));
    const row = shown.find('[data-id="c"]');
    shown.doing(() => void row.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowUp', altKey: true, bubbles: true})));
    expect(actions()).toEqual([{type: 'chat/queuedMessagesReordered', order: ['a', 'c', 'b']}]);
    expect(rows()).toEqual(['say a', 'say c', 'say b']);
  });

  it('do not move beyond the end', () => {
    open(chat({queuedMessages: waits('a', 'b')}));
    shown.doing(() => void shown.find('[data-id="a"]').dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowUp', altKey: true, bubbles: true})));
    expect(actions()).toEqual([]);
  });

  it('are removed, and rewritten in their place', () => {
    open(chat({queuedMessages: waits('a', 'b')}));
    press('Remove');
    expect(actions()).toEqual([{type: 'chat/pendingMessageRemoved', kind: 'queued', id: 'a'}]);
    press('More');
    press('Edit');
    const field = shown.find<HTMLTextAreaElement>('textarea');
    shown.doing(() => {
      field.value = 'say b, please';
    });
    press('Save');
    expect(actions().at(-1)).toEqual({type: 'chat/pendingMessageSet', kind: 'queued', id: 'b', message: said('say b, please')});
  });

  it('steer now, in place of another only when asked', () => {
    open(chat({queuedMessages: waits('a', 'b')}));
    press('Steer now');
    expect(actions()).toMatchObject([{kind: 'steering', message: said('say a')}, {type: 'chat/pendingMessageRemoved', kind: 'queued', id: 'a'}]);
    press('Steer now');
    expect(actions()).toHaveLength(2);
    press('Replace');
    expect(actions()).toHaveLength(4);
  });

  it('say when the host refuses', () => {
    open(chat({queuedMessages: waits('a')}));
    press('Remove');
    shown.doing(() => shown.store.acts[0]?.end('refused', 'it has begun'));
    expect(shown.box.textContent).toContain('The host refused: it has begun');
  });
});

it('a queue that is held goes on when asked', () => {
  open({...chat({queuedMessages: waits('a', 'b')}), activeTurn: undefined});
  expect(shown.box.textContent).not.toContain('Held');
  shown.doing(() => void vi.advanceTimersByTime(1500));
  press('Go on');
  expect(actions()).toEqual([{type: 'chat/pendingMessageSet', kind: 'queued', id: 'a', message: said('say a')}]);
});

it('the steering message can be taken back', () => {
  open(chat({steeringMessage: {id: 's', message: said('left')}}));
  press('Remove');
  expect(actions()).toEqual([{type: 'chat/pendingMessageRemoved', kind: 'steering', id: 's'}]);
});

it('a row goes where the pointer leaves it', () => {
  expect(placeAt(5, [10, 30])).toBe(0);
  expect(placeAt(20, [10, 30])).toBe(1);
  expect(placeAt(90, [10, 30])).toBe(2);
});
