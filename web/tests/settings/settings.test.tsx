// @vitest-environment happy-dom
import {afterEach, beforeEach, describe, expect, test, vi} from 'vitest';
import type {Json} from '../../src/ahp/index.ts';
import {go} from '../../src/route.ts';
import {invitation, isOnlyHere} from '../../src/settings/invitation.ts';
import {SettingsPage} from '../../src/settings/page.tsx';
import {pathOfCode} from '../../src/settings/qr_code.tsx';
import {remembered} from '../../src/store/device.ts';
import {theme} from '../../src/ui/theme.ts';
import {type Shown, show} from '../fakes/render.tsx';
import {type FakeStates, fakeStore} from '../fakes/store.ts';

let page: Shown;
function open(section: string, states: FakeStates = {}): Shown {
  go({at: 'settings', section});
  return (page = show(<SettingsPage />, fakeStore(states)));
}
const submit = (): void => page.doing(() => void page.find('form').dispatchEvent(new Event('submit', {bubbles: true, cancelable: true})));
const field = <E extends HTMLElement = HTMLInputElement>(name: string): E => {
  const label = [...page.box.querySelectorAll('label')].find(one => one.textContent === name)!;
  return page.box.querySelector<E>(`[id="${label.htmlFor}"]`)!;
};
const type = (name: string, text: string): void => page.doing(() => {
  const input = field(name);
  input.value = text;
  input.dispatchEvent(new Event('input', {bubbles: true}));
});
const shows = (text: string): Promise<void> => vi.waitFor(() => expect(page.box.textContent).toContain(text));

beforeEach(() => void (theme.value = 'system'));
afterEach(() => page?.remove());

describe('this device', () => {
  test('theme and name are kept here', () => {
    open('device');
    page.doing(() => [...page.box.querySelectorAll<HTMLInputElement>('[type="radio"]')][2]!.click());
    expect(document.documentElement.dataset['theme']).toBe('dark');
    type('Name of this device', ' Tablet ');
    expect(remembered('name')).toBe('Tablet');
  });

  test('signing out asks first', () => {
    open('device', {me: {name: 'ann', role: 'viewer'}});
    expect(page.box.textContent).toContain('Signed in as ann (viewer).');
    page.doing(() => page.button('Sign out').click());
    expect(page.store.calls).toEqual([]);
    page.doing(() => page.find('dialog .danger').click());
    expect(page.store.calls).toEqual(['signOut']);
  });
});

describe('the host', () => {
  const root = {agents: [], config: {schema: {type: 'object', properties: {welcome: {type: 'string', title: 'Welcome'}, shell: {type: 'string', title: 'Shell'}}}, values: {welcome: 'hi', shell: '/bin/sh'}}};

  test('only what was changed is sent, and a refusal is told', () => {
    open('host', {root});
    submit();
    expect(page.store.acts).toEqual([]);
    type('Welcome', '');
    submit();
    expect(page.store.acts[0]?.action).toEqual({type: 'root/configChanged', config: {welcome: ''}});
    page.doing(() => page.store.acts[0]!.end('refused', 'owners only'));
    expect(page.box.textContent).toContain('The host refused: owners only');
  });

  const many = {agents: [{provider: 'llm', displayName: 'A model', description: '', models: [{id: 'fast', provider: 'llm', name: 'Fast'}]}], config: {schema: {type: 'object', properties: {
    defaultAgent: {type: 'string', title: 'Agent'},
    defaultModel: {type: 'string', title: 'Model'},
    approvals: {type: 'string', title: 'Approvals', enum: ['default', 'edits'], enumLabels: ['Ask first', 'Allow edits'], default: 'default'},
    'mcp.enabled': {type: 'boolean', title: 'MCP servers', default: true},
    plugins: {type: 'array', title: 'Plugins', items: {type: 'string', title: 'Folder'}, default: []},
    timeout: {type: 'number', title: 'Timeout', default: 30},
    telemetry: {type: 'object', title: 'Telemetry', properties: {endpoint: {type: 'string', title: 'Endpoint'}, level: {type: 'string', title: 'Level', enum: ['info', 'warn'], default: 'warn'}}},
    port: {type: 'number', title: 'Port', readOnly: true, default: 1},
  }}, values: {telemetry: {endpoint: 'http://a'}, timeout: 60, port: 8}}};

  test('agents and models are offered as they are now', () => {
    open('host', {root: many});
    const offered = (name: string): (string | null)[] => {
      page.doing(() => field(name).click());
      const found = [...page.box.querySelectorAll('[role="option"]')].map(option => option.textContent);
      page.doing(() => field(name).dispatchEvent(new Event('blur')));
      return found;
    };
    expect(offered('Agent')).toEqual(['A model']);
    expect(offered('Model')).toEqual(['Fast (A model)']);
    type('Model', 'nothing');
    expect([...page.box.querySelectorAll('[role="option"]')]).toEqual([]);
  });

  test('an agent that was chosen is taken back', () => {
    open('host', {root: {...many, config: {...many.config, values: {defaultAgent: 'llm'}}}});
    expect(field('Agent').value).toBe('A model');
    page.doing(() => field('Agent').click());
    page.doing(() => void page.find('[role="option"]').dispatchEvent(new Event('pointerdown', {bubbles: true, cancelable: true})));
    submit();
    expect(page.store.acts[0]?.action).toEqual({type: 'root/configChanged', config: {defaultAgent: ''}});
  });

  test('settings inside settings keep their neighbours and their defaults', () => {
    open('host', {root: many});
    const level = field<HTMLSelectElement>('Level');
    expect(level.selectedOptions[0]?.textContent).toBe('warn');
    type('Endpoint', 'http://b');
    submit();
    expect(page.store.acts[0]?.action).toEqual({type: 'root/configChanged', config: {telemetry: {endpoint: 'http://b'}}});
  });

  test('what is taken out goes back to its default, and what is wrong is told instead of sent', () => {
    open('host', {root: many});
    type('Timeout', 'soon');
    submit();
    expect(page.store.acts).toEqual([]);
    expect(page.find('form [role="alert"]').textContent).toBe('Timeout: This is not a number.');
    type('Timeout', '');
    submit();
    expect(page.store.acts[0]?.action).toEqual({type: 'root/configChanged', config: {timeout: 30}});
  });

  test('what the command line has set is shown and stays', () => {
    open('host', {root: many});
    expect(field('Port').disabled).toBe(true);
    expect(field('Port').value).toBe('8');
    expect(page.box.textContent).toContain('Set where the host was started');
  });

  test('an operator sees values and is told who changes them', () => {
    open('host', {root, me: {name: 'o', role: 'operator'}});
    expect(field('Welcome').disabled).toBe(true);
    expect(page.box.textContent).toContain('Only owners change the settings of the host.');
  });

  test('a viewer sees values and can change none', () => {
    open('host', {root, me: {name: 'v', role: 'viewer'}});
    expect(field('Welcome').disabled).toBe(true);
    expect(field('Welcome').value).toBe('hi');
  });
});

describe('trust', () => {
  const server = (name: string, trusted: boolean): object => ({digest: `${name}${trusted}`, name, trusted, by: 'ann', at: '2026-01-01T00:00:00Z'});
  const answers = {'agenthost/listTrust': () => ({items: [{folder: '/work/shop', servers: [server('time', true), server('time', true), server('evil\u202e', false)]}]}), 'agenthost/forgetTrust': () => null};

  test('is listed by folder, and forgotten', async () => {
    open('trust', {answers});
    await shows('/work/shop');
    expect(page.box.textContent).toContain('May start: timeDoes not start: evil⟨U+202E⟩');
    page.doing(() => page.button('Forget: /work/shop').click());
    await vi.waitFor(() => expect(page.store.asks.map(({method}) => method)).toEqual(['agenthost/listTrust', 'agenthost/forgetTrust', 'agenthost/listTrust']));
    expect(page.store.asks[1]?.params).toEqual({folder: '/work/shop'});
  });

  test('is for owners', () => {
    open('trust', {answers, me: {name: 'o', role: 'operator'}});
    expect(page.box.textContent).toContain('Only owners see and change what is trusted.');
    expect(page.store.asks).toEqual([]);
  });
});

describe('access', () => {
  const token = {name: 'laptop', role: 'owner', createdAt: '2026-01-01T00:00:00Z', expired: false};
  const answers = (): Record<string, (params: Json) => unknown> => ({
    'agenthost/listTokens': () => ({items: [token]}),
    'agenthost/createToken': ({name}) => ({secret: 's3cret/+', token: {...token, name}}),
    'agenthost/revokeToken': () => null,
  });

  test('a new token is shown as a code and a link with the secret behind the #', async () => {
    const copied = vi.fn((_: string) => Promise.resolve());
    vi.stubGlobal('navigator', {...navigator, clipboard: {writeText: copied}});
    open('access', {answers: answers()});
    await shows('laptop');
    submit();
    await shows('Scan this with phone');
    expect(page.store.asks.find(ask => ask.method === 'agenthost/createToken')?.params).toMatchObject({name: 'phone', role: 'operator'});
    type('Address of the host', '192.168.1.7:8765');
    expect(page.box.querySelector('.settings-qr path')).not.toBeNull();
    page.doing(() => page.button('Copy the link').click());
    expect(copied).toHaveBeenCalledWith('http://192.168.1.7:8765/#tkn=s3cret%2F%2B');
    vi.unstubAllGlobals();
  });

  test('revoking asks first, then lists anew', async () => {
    open('access', {answers: answers()});
    await shows('laptop');
    page.doing(() => page.button('Revoke: laptop').click());
    page.doing(() => page.find('dialog .danger').click());
    await vi.waitFor(() => expect(page.store.asks.map(ask => ask.method)).toEqual(['agenthost/listTokens', 'agenthost/revokeToken', 'agenthost/listTokens']));
  });

  test('others are not even asked for the list', () => {
    open('access', {me: {name: 'o', role: 'operator'}});
    expect(page.box.textContent).toContain('Only owners see who has access.');
    expect(page.store.asks).toEqual([]);
  });
});

describe('the trash', () => {
  const items = [{session: 'ahp-session:/x', title: 'Old work', provider: 'demo', disposedAt: '2026-01-01T00:00:00Z', expiresAt: '2027-01-01T00:00:00Z'}];
  const answers = {'agenthost/listTrash': () => ({items}), 'agenthost/restoreSession': () => null, 'agenthost/purgeSession': () => { throw new Error('no'); }};

  test('gives a session back', async () => {
    open('trash', {answers});
    await shows('Old work');
    page.doing(() => page.button('Restore: Old work').click());
    await vi.waitFor(() => expect(page.store.asks).toContainEqual({method: 'agenthost/restoreSession', params: {channel: 'ahp-session:/x'}}));
  });

  test('deletes for good only after a question, and tells a refusal', async () => {
    open('trash', {answers});
    await shows('Old work');
    page.doing(() => page.button('Delete for good: Old work').click());
    page.doing(() => page.find('dialog .danger').click());
    await shows('The host refused: no');
  });
});

test.each([
  ['https://host.example', 'https://host.example/#tkn=a'],
  ['host.local:8000', 'http://host.local:8000/#tkn=a'],
  ['https://host.example/some/path?x=1', 'https://host.example/#tkn=a'],
  ['javascript://x', undefined],
  ['', undefined],
])('the invitation to %s', (address, link) => expect(invitation(address, 'a')).toBe(link));

test('addresses of this machine alone are known', () => {
  expect(['http://localhost:1', '127.0.0.1:9', 'http://[::1]:9'].map(isOnlyHere)).toEqual([true, true, true]);
  expect(isOnlyHere('http://192.168.0.2')).toBe(false);
});

test('a code has its quiet margin, and a text that is too long has none', () => {
  const code = pathOfCode('http://127.0.0.1/#tkn=abc')!;
  expect(code.size).toBeGreaterThanOrEqual(21 + 8);
  expect(code.path.startsWith('M4 4h7')).toBe(true);
  expect(pathOfCode('x'.repeat(5000))).toBeUndefined();
});
