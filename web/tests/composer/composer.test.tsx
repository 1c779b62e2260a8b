// @vitest-environment happy-dom
import {afterEach, beforeEach, describe, expect, it, vi} from 'vitest';
import type {Json, MessageAttachment} from '../../src/ahp/index.ts';
import {Composer} from '../../src/composer/composer.tsx';
import {focusComposer, putIntoComposer} from '../../src/composer/intake.ts';
import {commands} from '../../src/ui/commands.ts';
import {Toasts} from '../../src/ui/toast.tsx';
import {attachToMessage} from '../../src/workspace/notes/attach.ts';
import {type Shown, show} from '../fakes/render.tsx';
import {type FakeStates, fakeStore} from '../fakes/store.ts';

const kept = vi.hoisted(() => new Map<string, unknown>());
vi.mock('../../src/store/drafts.ts', () => ({
  readDraft: (chat: string) => Promise.resolve(kept.get(chat)),
  saveDraft: (chat: string, draft: unknown) => Promise.resolve(void kept.set(chat, draft)),
  clearDraft: (chat: string) => Promise.resolve(void kept.delete(chat)),
}));

const AT = {session: 'ahp-session:/s', chat: 'ahp-chat:/c'};
const TURN = {id: 't', startedAt: '2026-01-01T00:00:00.000Z', message: {text: 'before', origin: {kind: 'user'}}, responseParts: []};
const chat = (more: object = {}): Json =>
  ({resource: AT.chat, title: 'Chat', status: 1, modifiedAt: '2026-01-01T00:00:00.000Z', turns: [], ...more}) as unknown as Json;

let shown: Shown;
async function open(state: Json = chat(), more: FakeStates = {}): Promise<void> {
  shown = show(<Composer {...AT} />, fakeStore({channels: {[AT.chat]: state}, ...more}));
  // What the device kept is read first.
  for (let n = 0; n < 8; n++) await Promise.resolve();
}
const field = (): HTMLTextAreaElement => shown.find<HTMLTextAreaElement>('textarea.composer-field');
function type(text: string): void {
  shown.doing(() => {
    field().value = text;
    field().dispatchEvent(new Event('input', {bubbles: true}));
  });
}
const press = (key: string, more: KeyboardEventInit = {}): void =>
  shown.doing(() => void field().dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true, ...more})));
const done = (): string[] => shown.store.acts.map(act => act.action.type);

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  shown.remove();
  kept.clear();
  vi.useRealTimers();
});

it.each([AT.session, AT.chat])('what is no longer there (%s) takes no message, and the draft stays', async uri => {
  await open();
  type('hello');
  shown.doing(() => shown.store.lose(uri, 'disposed'));
  const send = shown.button('Send');
  expect([send.getAttribute('aria-disabled'), send.title]).toEqual(['true', 'This chat is not here any more.']);
  shown.doing(() => send.click());
  press('Enter');
  expect([done(), field().value]).toEqual([[], 'hello']);
});

describe('an idle chat', () => {
  it('gets a turn by Enter, and the box is empty then', async () => {
    await open();
    type('hello');
    press('Enter');
    expect(shown.store.acts[0]?.action).toMatchObject({type: 'chat/turnStarted', message: {text: 'hello', origin: {kind: 'user'}}});
    expect(field().value).toBe('');
    expect(kept.has(AT.chat)).toBe(false);
  });

  it.each([{shiftKey: true}, {isComposing: true}])('gets none by Enter with %j', async more => {
    await open();
    type('hello');
    press('Enter', more);
    expect(done()).toEqual([]);
  });

  it('gets nothing out of an empty box, and the button says why', async () => {
    await open();
    type('  \n');
    press('Enter');
    expect(done()).toEqual([]);
    expect(shown.button('Send').getAttribute('aria-disabled')).toBe('true');
    expect(shown.button('Send').title).toBe('There is nothing to send yet.');
  });

  it('gets nothing while disconnected, and the text stays', async () => {
    await open();
    type('hello');
    shown.doing(() => void (shown.store.live.value = 'reconnecting'));
    press('Enter');
    expect(done()).toEqual([]);
    expect(field().value).toBe('hello');
    expect(shown.button('Send').getAttribute('aria-disabled')).toBe('true');
  });
});

describe('a working chat', () => {
  it('queues by Enter and is steered by Mod+Enter', async () => {
    await open(chat({activeTurn: TURN}));
    type('later');
    press('Enter');
    expect(shown.store.acts[0]?.action).toMatchObject({type: 'chat/pendingMessageSet', kind: 'queued', message: {text: 'later'}});
    type('now');
    press('Enter', {ctrlKey: true});
    expect(shown.store.acts.at(-1)?.action).toMatchObject({type: 'chat/pendingMessageSet', kind: 'steering', message: {text: 'now'}});
  });

  it('sends nothing by a key that is held down', async () => {
    await open(chat({activeTurn: TURN}));
    type('not yet');
    press('Enter', {repeat: true});
    expect(done()).toEqual([]);
    expect(field().value).toBe('not yet');
  });

  it('sends nothing by a second press of the key that answered a card', async () => {
    await open(chat({activeTurn: TURN}));
    type('not yet');
    const now = vi.spyOn(performance, 'now').mockReturnValue(10_000);
    shown.doing(() => focusComposer(AT.chat));
    press('Enter');
    expect(done()).toEqual([]);
    now.mockReturnValue(11_000);
    press('Enter');
    expect(done()).toContain('chat/pendingMessageSet');
    now.mockRestore();
  });

  it('keeps Stop where it is when Steer was pressed and goes', async () => {
    await open(chat({activeTurn: TURN}));
    const rightOfStop = (): number => [...shown.box.querySelectorAll('.composer-send button')].toReversed().findIndex(button => button.textContent === 'Stop');
    const before = rightOfStop();
    type('now');
    expect(rightOfStop()).toBe(before);
  });

  it('asks before a second message steers in place of the first', async () => {
    await open(chat({activeTurn: TURN, steeringMessage: {id: 'x', message: TURN.message}}));
    type('now');
    press('Enter', {ctrlKey: true});
    expect(done()).toEqual([]);
    shown.doing(() => shown.button('Replace').click());
    expect(done()).toContain('chat/pendingMessageSet');
  });

  it('is stopped by the button and by the key, never by Escape', async () => {
    await open(chat({activeTurn: TURN}));
    press('Escape');
    expect(done()).toEqual([]);
    const stop = commands.value.find(each => each.keys?.includes('Mod+.'));
    expect(stop?.when?.()).toBe(true);
    shown.doing(() => stop?.run());
    expect(shown.store.acts[0]?.action).toMatchObject({type: 'chat/turnCancelled', turnId: 't'});
    expect(stop?.when?.()).toBe(false);
  });
});

describe('a message that did not arrive', () => {
  it('comes back into the empty box, with the reason', async () => {
    await open();
    type('hello');
    press('Enter');
    shown.doing(() => shown.store.acts[0]?.end('refused', 'not today'));
    expect(field().value).toBe('hello');
    expect(shown.box.textContent).toContain('The host refused: not today');
    expect(() => shown.button('Put back')).toThrow('no button');
  });

  it('waits beside what was typed meanwhile', async () => {
    await open();
    type('first');
    press('Enter');
    type('second');
    shown.doing(() => shown.store.acts[0]?.end('notSent'));
    expect(field().value).toBe('second');
    expect(shown.box.textContent).toContain('first');
    shown.doing(() => shown.button('Put back').click());
    expect(field().value).toBe('first');
  });

  it('perhaps did: that is said, and nothing comes back by itself', async () => {
    await open();
    type('hello');
    press('Enter');
    shown.doing(() => shown.store.acts[0]?.end('uncertain'));
    expect(field().value).toBe('');
    expect(shown.box.textContent).toContain('Sent, but the answer was lost. Look before sending again.');
  });
});

describe('a draft', () => {
  it('is kept on this device with every key, and at the host after a pause', async () => {
    await open();
    type('h');
    expect(kept.get(AT.chat)).toMatchObject({text: 'h'});
    type('hi');
    expect(done()).toEqual([]);
    shown.doing(() => void vi.advanceTimersByTime(600));
    expect(shown.store.acts[0]?.action).toMatchObject({type: 'chat/draftChanged', draft: {text: 'hi'}});
  });

  it('that is typed while disconnected is kept at the host when it is back', async () => {
    await open(chat({draft: {text: 'old', origin: {kind: 'user'}}}));
    shown.doing(() => void (shown.store.live.value = 'reconnecting'));
    type('old and new');
    shown.doing(() => void vi.advanceTimersByTime(600));
    expect(done()).toEqual([]);
    shown.doing(() => void (shown.store.live.value = 'live'));
    expect(shown.store.acts[0]?.action).toMatchObject({type: 'chat/draftChanged', draft: {text: 'old and new'}});
    expect(field().value).toBe('old and new');
  });

  it('that waits to be kept at the host is not, once it was sent', async () => {
    await open();
    type('hi');
    press('Enter');
    shown.doing(() => void vi.advanceTimersByTime(2000));
    expect(done()).toEqual(['chat/turnStarted']);
  });

  it('comes back from this device, else from the host', async () => {
    kept.set(AT.chat, {text: 'mine', attachments: []});
    await open(chat({draft: {text: 'theirs', origin: {kind: 'user'}}}));
    expect(field().value).toBe('mine');
    shown.remove();
    kept.clear();
    await open(chat({draft: {text: 'theirs', origin: {kind: 'user'}}}));
    expect(field().value).toBe('theirs');
  });

  it('from another window enters an untouched box, and is offered to a touched one', async () => {
    await open();
    const draft = (text: string): Json => ({type: 'chat/draftChanged', draft: {text, origin: {kind: 'user'}}}) as unknown as Json;
    shown.doing(() => shown.store.apply(AT.chat, draft('theirs')));
    expect(field().value).toBe('theirs');
    type('mine');
    shown.doing(() => void vi.advanceTimersByTime(600));
    shown.doing(() => field().focus());
    shown.doing(() => shown.store.apply(AT.chat, draft('theirs again')));
    expect(field().value).toBe('mine');
    expect(shown.box.textContent).toContain('Draft changed in another window.');
    shown.doing(() => shown.button('Use it').click());
    expect(field().value).toBe('theirs again');
  });
});

describe('who cannot write', () => {
  it('is told so in a worker\'s chat', async () => {
    await open(chat({interactivity: 'read-only', origin: {kind: 'tool', chat: 'ahp-chat:/d', toolCallId: 'x'}}));
    expect(shown.box.textContent).toContain("A worker's chat. Write in the main chat.");
    expect(shown.box.querySelector('textarea')).toBeNull();
  });

  it('is told so as a viewer', async () => {
    await open(chat(), {me: {name: 'guest', role: 'viewer'}});
    expect(shown.box.textContent).toBe('You can look, not act.');
  });
});

it('what another room hands over goes with the next message', async () => {
  const note: MessageAttachment = {type: 'annotations', label: 'a note', resource: 'ahp-session:/s/annotations', annotationIds: ['n']};
  attachToMessage(AT.chat, note);
  await open();
  expect(shown.find('.composer-attached').textContent).toBe('a note');
  type('look');
  press('Enter');
  expect(shown.store.acts[0]?.action).toMatchObject({message: {attachments: [note]}});
});

it('what is put in place of a draft can be taken back', async () => {
  await open();
  type('half a thought');
  shown.again(<><Composer {...AT} /><Toasts /></>);
  shown.doing(() => void putIntoComposer(AT.chat, {text: 'once more', origin: {kind: 'user'}}));
  expect(field().value).toBe('once more');
  shown.doing(() => shown.button('Undo').click());
  expect(field().value).toBe('half a thought');
});

it('a message can be put into the box from elsewhere, to be changed and sent again', async () => {
  await open();
  shown.doing(() => void putIntoComposer(AT.chat, {text: 'once more', origin: {kind: 'user'}}));
  expect(field().value).toBe('once more');
  expect(document.activeElement).toBe(field());
});
