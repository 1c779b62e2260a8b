// @vitest-environment happy-dom
import {afterEach, beforeEach, describe, expect, it, vi} from 'vitest';
import type {CompletionItem, Json} from '../../src/ahp/index.ts';
import {Composer} from '../../src/composer/composer.tsx';
import {route} from '../../src/route.ts';
import {type Shown, show} from '../fakes/render.tsx';
import {fakeStore} from '../fakes/store.ts';

vi.mock('../../src/store/drafts.ts', () => ({readDraft: async () => undefined, saveDraft: async () => {}, clearDraft: async () => {}}));

const AT = {session: 'ahp-session:/s', chat: 'ahp-chat:/c'};
const CHAT: Json = {resource: AT.chat, title: '', status: 1, modifiedAt: '2026-01-01T00:00:00.000Z', turns: []};
const SESSION: Json = {
  provider: 'demo', title: '', status: 1, lifecycle: 'ready', activeClients: [], chats: [],
  config: {
    schema: {type: 'object', properties: {
      autoApprove: {type: 'string', title: 'Approvals', enum: ['default', 'autoApprove'], enumLabels: ['Ask first', 'Allow everything'], default: 'default', sessionMutable: true},
      branch: {type: 'string', title: 'Branch', enum: ['a', 'b']},
      mode: {type: 'string', title: 'Mode', enum: ['interactive', 'plan'], enumLabels: ['Do it', 'Only plan'], default: 'interactive', sessionMutable: true},
    }},
    values: {autoApprove: 'default'},
  },
};
const ROOT: Json = {agents: [{provider: 'demo', displayName: 'Demo', description: '', models: [{id: 'm1', provider: 'demo', name: 'One'}, {id: 'm2', provider: 'demo', name: 'Two'}]}]};
const file: CompletionItem = {insertText: '@src/a.ts ', rangeStart: 4, rangeEnd: 6, attachment: {type: 'resource', label: 'a.ts', uri: 'file:///src/a.ts', displayKind: 'file', _meta: {path: 'src/a.ts'}}};
const other: CompletionItem = {...file, insertText: '@b.ts ', attachment: {type: 'resource', label: 'b.ts', uri: 'file:///b.ts'}};

let shown: Shown;
let items: CompletionItem[];
beforeEach(() => {
  vi.useFakeTimers();
  items = [file, other];
  shown = show(<Composer {...AT} />, fakeStore({root: ROOT, channels: {[AT.chat]: CHAT, [AT.session]: SESSION}, answers: {completions: () => ({items})}}));
});
afterEach(() => {
  shown.remove();
  vi.useRealTimers();
});
const field = (): HTMLTextAreaElement => shown.find<HTMLTextAreaElement>('textarea.composer-field');
async function type(text: string): Promise<void> {
  shown.doing(() => {
    field().value = text;
    field().setSelectionRange(text.length, text.length);
    field().dispatchEvent(new Event('input', {bubbles: true}));
  });
  await rest();
}
async function rest(): Promise<void> {
  await vi.advanceTimersByTimeAsync(100);
  shown.doing(() => {});
}
const press = (key: string): void => shown.doing(() => void field().dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true})));
const options = (): string[] => [...shown.box.querySelectorAll('[role=option]')].map(option => option.textContent ?? '');
const asked = (): Json[] => shown.store.asks.filter(ask => ask.method === 'completions').map(ask => ask.params);

describe('completions', () => {
  it('are asked for at a trigger, with the cursor in UTF-16 code units', async () => {
    await type('😀 @s');
    expect(asked()).toEqual([{channel: AT.chat, kind: 'userMessage', text: '😀 @s', offset: 5}]);
    await type('no trigger');
    expect(asked()).toHaveLength(1);
    expect(options()).toEqual([]);
  });

  it('are taken by Enter, which sends nothing then', async () => {
    await type('see @s');
    expect(options()).toEqual(['a.tssrc/a.ts', 'b.ts']);
    press('ArrowDown');
    expect(field().getAttribute('aria-activedescendant')).toBe('composer-completions-1');
    press('ArrowUp');
    press('Enter');
    expect(field().value).toBe('see @src/a.ts ');
    expect(shown.store.acts).toEqual([]);
    expect(shown.find('.composer-attached').textContent).toBe('a.ts');
  });

  it('attach what they stand for, as long as the text mentions it', async () => {
    await type('see @s');
    press('Tab');
    press('Enter');
    expect(shown.store.acts[0]?.action).toMatchObject({message: {text: 'see @src/a.ts ', attachments: [{uri: 'file:///src/a.ts', _meta: {path: 'src/a.ts'}, range: {start: {line: 0, character: 4}, end: {line: 0, character: 13}}}]}});
    await type('see @s');
    press('Tab');
    await type('see');
    expect(shown.box.querySelector('.composer-attached')).toBeNull();
  });

  it('that come late are not shown', async () => {
    await type('see @s');
    press('Escape');
    expect(options()).toEqual([]);
    shown.doing(() => {
      field().value = 'see @sr';
      field().setSelectionRange(7, 7);
      field().dispatchEvent(new Event('input', {bubbles: true}));
    });
    vi.advanceTimersByTime(80);
    shown.doing(() => {
      field().value = 'see';
      field().dispatchEvent(new Event('input', {bubbles: true}));
    });
    await rest();
    expect(options()).toEqual([]);
  });
});

describe('chips', () => {
  const chip = (name: string): void => shown.doing(() => shown.button(name).click());

  it('change the model of the next message', async () => {
    chip('Model: Default model');
    chip('Two');
    await type('hello');
    press('Enter');
    expect(shown.store.acts[0]?.action).toMatchObject({message: {model: {id: 'm2'}}});
    chip('Model: Two');
    chip('Default model');
    expect(shown.button('Model: Default model')).toBeTruthy();
  });

  it('change settings that a running session may change, and no others', () => {
    expect(shown.box.textContent).not.toContain('Branch');
    // What runs without asking is chosen in the head of the chat.
    expect(shown.box.textContent).not.toContain('Ask first');
    chip('Mode: Do it');
    chip('Only plan');
    expect(shown.store.acts[0]).toMatchObject({uri: AT.session, action: {type: 'session/configChanged', config: {mode: 'plan'}}});
  });

  const agent = (name: string, more: object = {}): Json => ({type: 'agent', id: name, uri: `file:///r/.agents/agents/${name}.md`, name, ...more});
  const withAgents = (...children: Json[]): void => shown.doing(() => shown.store.set(AT.session, {
    ...SESSION,
    customizations: [
      {type: 'directory', id: 'd', uri: 'file:///r/.agents/agents', name: 'Agents', contents: 'agent', writable: true, enabled: true, children},
      {type: 'plugin', id: 'p', uri: 'file:///p', name: 'Off', enablement: [{kind: 'workspace', uri: 'file:///r', enabled: false}, {kind: 'global', enabled: true}], children: [agent('unplugged')]},
    ],
  }));

  it('name a custom agent that can be chosen, and none that is off, broken or not for people', async () => {
    withAgents(agent('reviewer', {description: 'Reads with care.'}), agent('off', {enabled: false}), agent('broken', {_meta: {'agenthost/problem': 'line 3'}}), agent('inner', {disableUserInvocation: true}));
    chip('Agent: No custom agent');
    expect([...shown.box.querySelectorAll('[role="menuitemradio"]')].map(item => item.textContent)).toEqual(['No custom agent', 'reviewerReads with care.']);
    chip('reviewerReads with care.');
    await type('hello');
    press('Enter');
    expect(shown.store.acts[0]?.action).toMatchObject({message: {agent: {uri: 'file:///r/.agents/agents/reviewer.md'}}});
    chip('Agent: reviewer');
    chip('No custom agent');
  });

  it('do not send a message to a custom agent that is gone', async () => {
    withAgents(agent('reviewer'), agent('writer'));
    chip('Agent: No custom agent');
    chip('reviewer');
    withAgents(agent('writer'));
    expect(shown.button('Agent: No custom agent')).toBeTruthy();
    await type('hello');
    press('Enter');
    expect(shown.store.acts[0]?.action).not.toMatchObject({message: {agent: expect.anything()}});
  });
});

it('background work leads to its terminal or its chat', () => {
  const startedAt = '2026-01-01T00:00:00.000Z';
  const backgroundWork = [
    {id: 'a', kind: 'shell', label: 'server', command: 'serve', startedAt, terminal: 'ahp-terminal:/t'},
    {id: 'b', kind: 'shell', label: 'sleep', command: 'sleep', startedAt},
    {id: 'c', kind: 'subagent', label: 'review', startedAt, chat: 'ahp-chat:/w'},
  ];
  shown.doing(() => shown.store.set(AT.chat, {...CHAT, backgroundWork}));
  const links = (): Record<string, HTMLAnchorElement> => Object.fromEntries([...shown.box.querySelectorAll<HTMLAnchorElement>('.composer-background a')].map(link => [link.textContent, link]));
  shown.doing(() => shown.button('3 in background').click());
  expect(Object.keys(links())).toEqual(['server', 'review']);
  shown.doing(() => links()['server']?.click());
  expect(route.value).toMatchObject({at: 'session', session: AT.session, panel: 'terminals', file: 'ahp-terminal:/t'});
  expect(shown.box.querySelector('.composer-background')).toBeNull();
  shown.doing(() => shown.button('3 in background').click());
  shown.doing(() => links()['review']?.click());
  expect(route.value).toEqual({at: 'session', session: AT.session, chat: 'ahp-chat:/w'});
});

it('usage and background work are told', () => {
  expect(shown.box.querySelector('.composer-usage')).toBeNull();
  const turn = {id: 't', message: {text: '', origin: {kind: 'user'}}, responseParts: [], state: 'complete', usage: {inputTokens: 12_000, outputTokens: 345}};
  shown.doing(() => shown.store.set(AT.chat, {...CHAT, turns: [turn], backgroundWork: [{id: 'b', kind: 'shell', label: 'sleep', startedAt: '2026-01-01T00:00:00.000Z'}]}));
  expect(shown.find('.composer-usage').getAttribute('aria-label')).toBe('12,345 tokens of context used');
  expect(shown.box.textContent).toContain('1 in background');
});
