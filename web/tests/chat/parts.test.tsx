// @vitest-environment happy-dom
import {afterEach, describe, expect, it, vi} from 'vitest';
import type {ResponsePart} from '../../src/ahp/index.ts';
import '../../src/chat/parts/index.ts';
import {Elapsed} from '../../src/chat/parts/elapsed.tsx';
import {MessageView} from '../../src/chat/parts/message.tsx';
import type {MessageRow} from '../../src/chat/rows.ts';
import {partViews} from '../../src/ui/registry.tsx';
import {type Shown, show} from '../fakes/render.tsx';
import {fakeStore} from '../fakes/store.ts';

const AT = {session: 'ahp-session:/s', chat: 'ahp-chat:/c', turn: 't', index: 0};
const WORKER = 'ahp-chat:/w';
let shown: Shown;
let count = 0;
afterEach(() => shown.remove());

function part(given: object, running = false, store = fakeStore()): Shown {
  const value = given as unknown as ResponsePart;
  const View = partViews.get(value.kind);
  shown = show(<View part={value} at={{...AT, turn: `t${count++}`}} running={running} />, store);
  return shown;
}

const call = (more: object): object => ({
  kind: 'toolCall',
  toolCall: {toolCallId: 'c', toolName: 'shell', displayName: 'Shell', invocationMessage: 'Run npm test', status: 'completed', success: true, pastTenseMessage: {markdown: 'Ran `npm test`'}, confirmed: 'not-needed', ...more},
});
const press = (): void => shown.doing(() => shown.find('button').click());

it('a time that passes stands still without the host, at when it was last heard', () => {
  vi.useFakeTimers({now: 100_000});
  try {
    const store = fakeStore();
    shown = show(<Elapsed since={90_000} />, store);
    const pass = (ms: number): void => shown.doing(() => void vi.advanceTimersByTime(ms));
    pass(2000);
    expect(shown.box.textContent).toBe('12 s');
    shown.doing(() => {
      store.since.value = 101_000;
      store.live.value = 'reconnecting';
    });
    pass(60_000);
    expect(shown.box.textContent).toBe('11 s');
    shown.doing(() => void (store.live.value = 'live'));
    expect(shown.box.textContent).toBe('1 min 12 s');
  } finally {
    vi.useRealTimers();
  }
});

describe('tool calls', () => {
  it('one that is prepared shows its last line', () => {
    const {box} = part(call({status: 'streaming', invocationMessage: undefined, partialInput: '{\n "path": "a'}));
    expect(box.textContent).toBe('Preparing Shell "path": "a');
  });

  it('one that runs shows its last lines', () => {
    const {box} = part(call({status: 'running', content: [{type: 'text', text: 'one\ntwo\nthree\n\u001b[31mfour\u001b[0m\n'}]}));
    expect(box.querySelector('.chat-call-title')?.textContent).toBe('Run npm test');
    expect(box.querySelector('pre')?.textContent).toBe('two\nthree\nfour');
  });

  it('one that is over is one line, and opens', () => {
    const {box} = part(call({toolInput: 'npm test', content: [{type: 'text', text: 'all fine'}]}));
    expect(box.textContent).toBe('Ran npm test');
    expect(shown.find('button').getAttribute('aria-expanded')).toBe('false');
    press();
    expect(shown.find('button').getAttribute('aria-expanded')).toBe('true');
    expect([...box.querySelectorAll('pre')].map(each => each.textContent)).toEqual(['npm test', 'all fine']);
  });

  it('one that failed shows the first line of why', () => {
    expect(part(call({success: false, pastTenseMessage: 'Tests failed', error: {message: 'boom\nat x'}})).box.textContent).toBe('Tests failedboom');
  });

  it('one that was called off says how and why', () => {
    expect(part(call({status: 'cancelled', reason: 'denied', reasonMessage: 'not now'})).box.textContent).toBe('Denied Run npm testnot now');
    expect(part(call({status: 'cancelled', reason: 'skipped'})).box.textContent).toBe('Skipped Run npm test');
    expect(part(call({status: 'cancelled', reason: 'result-denied'})).box.textContent).toBe('Result discarded Run npm test');
  });

  it('long output shows forty lines, and all when asked', () => {
    const text = Array.from({length: 100}, (_, at) => `line ${at}`).join('\n');
    part(call({content: [{type: 'text', text}]}));
    press();
    expect(shown.box.textContent).not.toContain('line 40');
    shown.doing(() => shown.button('Show all 100 lines').click());
    expect(shown.box.textContent).toContain('line 99');
  });

  it('of a command the last lines show first', () => {
    const text = Array.from({length: 100}, (_, at) => `line ${at}`).join('\n');
    part(call({_meta: {toolKind: 'terminal'}, content: [{type: 'text', text}]}));
    press();
    expect(shown.box.textContent).not.toContain('line 59');
    expect(shown.box.textContent).toContain('line 60');
  });

  it('spells out what would not be seen', () => {
    const {box} = part(call({pastTenseMessage: 'Ran \u202Etxt.exe', toolInput: 'a\u200Bb'}));
    press();
    expect(box.textContent).toContain('⟨U+202E⟩');
    expect(box.querySelector('pre')?.textContent).toBe('a⟨U+200B⟩b');
  });

  it('a status that nobody knows is told, not hidden', () => {
    expect(part(call({status: 'dreaming'})).box.textContent).toContain('This page does not know dreaming.');
    expect(part({kind: 'surprise'}).box.textContent).toContain('This page does not know surprise.');
  });
});

describe('workers', () => {
  const subagent = call({content: [{type: 'subagent', resource: WORKER, title: 'Look at it'}]});
  const sessionWith = (chat: object) => fakeStore({channels: {[AT.session]: {provider: 'p', title: '', status: 1, lifecycle: 'ready', activeClients: [], chats: [chat]}}});

  it('are live lines that lead to their chats', () => {
    const store = sessionWith({resource: WORKER, title: 'Docs', status: 8, activity: 'Reading', modifiedAt: ''});
    const {box} = part(subagent, false, store);
    expect(box.querySelector('a')?.textContent).toBe('DocsReading');
    shown.doing(() => store.apply(AT.session, {type: 'session/chatUpdated', chat: WORKER, changes: {status: 1}}));
    expect(box.querySelector('a')?.textContent).toBe('Docsdone');
  });

  it('that are gone lead nowhere', () => {
    const {box} = part(subagent);
    expect(box.querySelector('a')).toBeNull();
    expect(box.textContent).toContain('Look at itgone');
  });
});

describe('other parts', () => {
  it('reasoning is one line that opens', () => {
    const {box} = part({kind: 'reasoning', id: 'r', content: 'A **deep** thought'}, true);
    expect(box.textContent).toBe('Thinking...');
    press();
    expect(box.querySelector('strong')?.textContent).toBe('deep');
    expect(part({kind: 'reasoning', id: 'r', content: 'x'}).box.textContent).toBe('Thought');
  });

  it('notices may be markdown', () => {
    expect(part({kind: 'systemNotification', content: {markdown: 'Changed to *two*'}}).box.querySelector('em')?.textContent).toBe('two');
    expect(part({kind: 'systemNotification', content: 'plain *text*'}).box.textContent).toBe('plain *text*');
  });

  it('a change of a file shows what it changed', async () => {
    const edit = {type: 'fileEdit', before: {uri: 'file:///w/a.ts', content: {uri: 'one'}}, after: {uri: 'file:///w/a.ts', content: {uri: 'two'}}, diff: {added: 3, removed: 1}};
    const store = fakeStore({answers: {resourceRead: () => {
      throw new Error('gone');
    }}});
    const {box} = part(call({content: [edit]}), false, store);
    expect(box.textContent).toContain('+3 −1');
    press();
    await Promise.resolve();
    expect(store.asks.map(ask => ask.params.uri)).toEqual(['one', 'two']);
    await new Promise(done => setTimeout(done));
    expect(box.textContent).toContain('The change cannot be shown.');
  });
});

describe('messages', () => {
  const message = (attachments: object[]): Shown => {
    const row = {kind: 'message', key: `m${count++}`, turn: 't', startedAt: undefined, message: {text: 'Look', origin: {kind: 'user'}, attachments}} as unknown as MessageRow;
    shown = show(<MessageView row={row} />);
    return shown;
  };

  it('show attached pictures, and anything else by its name', () => {
    const {box} = message([
      {type: 'embeddedResource', label: 'shot.png', contentType: 'image/png', data: 'iVBORw0KGgoAAAANSUhEUgAAASwAAADI'},
      {type: 'embeddedResource', label: 'page.html', contentType: 'text/html', data: 'PGI+'},
      {type: 'resource', label: 'site', uri: 'javascript:alert(1)'},
      {type: 'surprise', label: 'what\u202Eever'},
    ]);
    const image = box.querySelector('img');
    expect([image?.getAttribute('width'), image?.getAttribute('height'), image?.alt]).toEqual(['300', '200', 'shot.png']);
    expect(image?.src).toMatch(/^blob:/);
    expect(box.querySelector('a')).toBeNull();
    expect([...box.querySelectorAll('li')].map(item => item.textContent)).toEqual(['', 'page.html', 'site', 'what⟨U+202E⟩ever']);
  });

  it('of great length begin only, until all is wanted', () => {
    const row = {kind: 'message', key: `m${count++}`, turn: 't', startedAt: undefined, message: {text: `${'word '.repeat(1000)}END`, origin: {kind: 'user'}}} as unknown as MessageRow;
    shown = show(<MessageView row={row} />);
    expect(shown.box.textContent).not.toContain('END');
    shown.doing(() => shown.find<HTMLButtonElement>('.chat-more').click());
    expect(shown.box.textContent).toContain('END');
  });
});
