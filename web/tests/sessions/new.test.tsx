// @vitest-environment happy-dom
import {afterEach, beforeEach, describe, expect, test, vi} from 'vitest';
import {type Json, LinkLost} from '../../src/ahp/index.ts';
import {go, route} from '../../src/route.ts';
import {NewSessionPage} from '../../src/sessions/new.tsx';
import {change, clearDraft, draft} from '../../src/sessions/new_draft.ts';
import {remembered} from '../../src/store/device.ts';
import {type Shown, show} from '../fakes/render.tsx';
import {fakeStore} from '../fakes/store.ts';

const MODELS = [
  {id: 'big', provider: 'demo', name: 'Big', configSchema: {type: 'object', properties: {effort: {type: 'string', title: 'Effort', enum: ['low', 'high']}}}},
  {id: 'off', provider: 'demo', name: 'Off', policyState: 'disabled'},
];
const ROOT = {agents: [{provider: 'demo', displayName: 'Demo', description: 'Shows things', models: MODELS}, {provider: 'echo', displayName: 'Echo', description: '', models: []}]};
const SCHEMA = {type: 'object', properties: {autoApprove: {type: 'string', title: 'Approvals', enum: ['default', 'autoApprove'], enumLabels: ['Ask first', 'Allow everything'], default: 'default'}, isolation: {type: 'string', title: 'Isolation', readOnly: true}}};
const CHAT = 'ahp-chat://default/new';

let page: Shown;
function open(answers: Record<string, (params: Json) => unknown> = {}): Shown {
  const ready = (params: Json): null => {
    page.store.set(params.channel, {provider: 'demo', title: '', status: 1, lifecycle: 'ready', activeClients: [], chats: [], defaultChat: CHAT});
    return null;
  };
  const given = {resolveSessionConfig: () => ({schema: SCHEMA, values: {autoApprove: 'default', isolation: 'folder'}}), createSession: ready, ...answers};
  return (page = show(<NewSessionPage />, fakeStore({root: ROOT, answers: given, sessions: [{resource: 's', provider: 'demo', title: '', status: 1, createdAt: '', modifiedAt: '2026-01-01', workingDirectories: ['file:///home/me/my%20app']}]})));
}
const field = <E extends HTMLElement>(name: string): E => {
  const label = [...page.box.querySelectorAll('label')].find(one => one.textContent?.startsWith(name));
  if (!label) throw new Error(`no field ${name} in ${page.box.textContent}`);
  return page.box.querySelector<E>(`[id="${label.htmlFor}"]`)!;
};
const choose = (name: string, value: string): void => page.doing(() => {
  const select = field<HTMLSelectElement>(name);
  select.value = value;
  select.dispatchEvent(new Event('change', {bubbles: true}));
});
const write = (name: string, text: string): void => page.doing(() => {
  const input = field<HTMLTextAreaElement>(name);
  input.value = text;
  input.dispatchEvent(new Event('input', {bubbles: true}));
});
const submit = (): void => page.doing(() => void page.find('form').dispatchEvent(new Event('submit', {bubbles: true, cancelable: true})));
const asked = (method: string): Json[] => page.store.asks.filter(ask => ask.method === method).map(ask => ask.params);
const options = (): Promise<unknown> => vi.waitFor(() => field('Approvals'));

beforeEach(() => {
  clearDraft();
  go({at: 'new'});
});
afterEach(() => page.remove());

describe('starting a session', () => {
  test('sends what was chosen and the first message, then goes there and clears the text', async () => {
    open();
    await options();
    choose('Folder', 'file:///home/me/my%20app');
    choose('Model', 'big');
    choose('Effort', '1');
    choose('Approvals', '1');
    write('First message', 'do it');
    submit();
    await vi.waitFor(() => expect(page.store.acts).toHaveLength(1));
    expect(asked('createSession')[0]).toMatchObject({provider: 'demo', workingDirectories: ['file:///home/me/my%20app'], config: {autoApprove: 'autoApprove'}});
    expect(page.store.acts[0]).toMatchObject({uri: CHAT, action: {type: 'chat/turnStarted', message: {text: 'do it', model: {id: 'big', config: {effort: 'high'}}}}});
    await vi.waitFor(() => expect(route.value).toMatchObject({at: 'session', session: asked('createSession')[0].channel}));
    expect(draft.value.message).toBe('do it');
    page.doing(() => page.store.acts[0]!.end('done'));
    await vi.waitFor(() => expect(draft.value.message).toBe(''));
    expect(draft.value.directory).toBe('file:///home/me/my%20app');
  });

  test('a session that fails is told, and nothing of the form is lost', async () => {
    open({createSession: (params: Json) => {
      page.store.set(params.channel, {provider: 'demo', title: '', status: 1, lifecycle: 'failed', creationError: {errorType: 'x', message: 'no key'}, activeClients: [], chats: []});
      return null;
    }});
    await options();
    write('First message', 'do it');
    submit();
    await vi.waitFor(() => expect(page.box.textContent).toContain('The session could not be started: no key'));
    expect(route.value.at).toBe('new');
    expect(field<HTMLTextAreaElement>('First message').value).toBe('do it');
  });

  test('an answer that was lost is not asked for again: the session itself tells that it exists', async () => {
    open({createSession: (params: Json) => {
      page.store.set(params.channel, {provider: 'demo', title: '', status: 1, lifecycle: 'ready', activeClients: [], chats: [], defaultChat: CHAT});
      throw new LinkLost('gone');
    }});
    await options();
    write('First message', 'do it');
    submit();
    await vi.waitFor(() => expect(page.store.acts).toHaveLength(1));
    expect(asked('createSession')).toHaveLength(1);
  });

  test('a second press while it starts asks for nothing more', async () => {
    open({createSession: () => new Promise(() => {})});
    await options();
    submit();
    submit();
    expect(asked('createSession')).toHaveLength(1);
  });

  test('without a message the model waits in the draft of the chat', async () => {
    open();
    await options();
    choose('Model', 'big');
    submit();
    await vi.waitFor(() => expect(page.store.acts[0]?.action).toMatchObject({type: 'chat/draftChanged', draft: {text: '', model: {id: 'big'}}}));
  });
});

describe('the form', () => {
  test('asks the host which options there are, again after each choice, and hides what can only be read', async () => {
    open();
    await options();
    expect(page.box.textContent).not.toContain('Isolation');
    choose('Folder', 'file:///home/me/my%20app');
    await vi.waitFor(() => expect(asked('resolveSessionConfig')).toHaveLength(2));
    expect(asked('resolveSessionConfig')[1]).toEqual({provider: 'demo', workingDirectory: 'file:///home/me/my%20app', config: {}});
  });

  test('another agent has its own models and options', async () => {
    open();
    await options();
    choose('Model', 'big');
    choose('Approvals', '1');
    choose('Agent', 'echo');
    expect(draft.value).toMatchObject({provider: 'echo', model: undefined, config: {}});
    expect(page.box.textContent).not.toContain('Model');
  });

  test('is kept on the device', () => {
    open();
    write('First message', 'half a sent');
    expect(JSON.parse(remembered('new') ?? '{}')).toMatchObject({message: 'half a sent'});
  });

  test('a model that is not enabled cannot be chosen', () => {
    open();
    expect(page.find<HTMLOptionElement>('option[value="off"]').disabled).toBe(true);
  });

  test('says why there are no options', async () => {
    open({resolveSessionConfig: () => { throw new Error('no such folder'); }});
    await vi.waitFor(() => expect(page.box.textContent).toContain('no such folder'));
  });

  test('cannot be sent while disconnected, but written', () => {
    open();
    page.doing(() => void (page.store.live.value = 'reconnecting'));
    expect(page.find('button[type="submit"]').getAttribute('aria-disabled')).toBe('true');
    change({message: 'x'});
    expect(draft.value.message).toBe('x');
  });
});
