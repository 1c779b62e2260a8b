// @vitest-environment happy-dom
import {afterEach, beforeEach, describe, expect, it, vi} from 'vitest';
import {type Json, WireError} from '../../src/ahp/index.ts';
import {go, route} from '../../src/route.ts';
import {ToolsPanel} from '../../src/tools/panel.tsx';
import {type Shown, show} from '../fakes/render.tsx';
import {type FakeStates, fakeStore} from '../fakes/store.ts';
import {CHAT, FOLDER, SESSION, auth, server, sessionWith, skill, skills} from './brought.ts';

let shown: Shown;
beforeEach(() => go({at: 'session', session: SESSION, panel: 'tools'}));
afterEach(() => shown.remove());

function open(customizations: Json, states: FakeStates = {}, more: Json = {}): Shown {
  return (shown = show(<ToolsPanel session={SESSION} chat={CHAT} />, fakeStore({channels: {[SESSION]: sessionWith(customizations, more)}, ...states})));
}
const row = (id: string): HTMLElement => shown.find(`[data-entry="${id}"]`);
const buttons = (id: string): string[] => [...row(id).querySelectorAll('.tools-actions button')].map(button => button.textContent ?? '');
const switchOf = (name: string): HTMLInputElement => [...shown.box.querySelectorAll('label')].find(label => label.textContent === `Use ${name}`)!.querySelector('input')!;
const last = (): Json => shown.store.acts.at(-1);

describe('a server', () => {
  it.each([
    [{kind: 'stopped'}, 'Not running', ['Start', 'Log']],
    [{kind: 'starting'}, 'Starting...', ['Stop', 'Log']],
    [{kind: 'starting', blocking: true}, 'Starting. The turn waits for it.', ['Do not wait', 'Stop', 'Log']],
    [{kind: 'ready'}, 'Ready', ['Restart', 'Stop', 'Log']],
    [{kind: 'error', error: {errorType: 'closed', message: 'Connection closed'}}, 'Failed', ['Start', 'Log']],
    [auth(), 'Needs you to sign in', ['Stop', 'Log']],
    [{kind: 'dreaming'}, 'In a state that this page does not know: dreaming', ['Start', 'Log']],
  ])('%j is told, with what can be done', (state, told, offered) => {
    open([server('time', state)]);
    expect(row('c-time').querySelector('[role="status"]')?.textContent).toBe(told);
    expect(buttons('c-time')).toEqual(offered);
  });

  it('is started, stopped, restarted and not waited for, wherever it stands', () => {
    open([server('a', {kind: 'stopped'}), {type: 'plugin', id: 'p', uri: 'file:///p', name: 'Plug', children: [server('b', {kind: 'ready'}), server('c', {kind: 'starting', blocking: true})]}]);
    for (const name of ['Start: a', 'Restart: b', 'Do not wait: c']) shown.doing(() => shown.button(name).click());
    expect(shown.store.acts.map(({uri, action}) => [uri, action])).toEqual([
      [SESSION, {type: 'session/mcpServerStartRequested', id: 'c-a'}],
      [SESSION, {type: 'session/mcpServerStartRequested', id: 'c-b'}],
      [SESSION, {type: 'session/mcpServerBackgroundRequested', id: 'c-c'}],
    ]);
    shown.doing(() => shown.button('Stop: a').click());
    expect(last().action).toEqual({type: 'session/mcpServerStopRequested', id: 'c-a'});
  });

  it('tells why the host refused, where it was asked', () => {
    open([server('a', {kind: 'stopped'}), server('b', {kind: 'stopped'})]);
    shown.doing(() => shown.button('Start: b').click());
    shown.doing(() => last().end('refused', 'nobody has trusted /work/shop'));
    expect(row('c-b').querySelector('[role="alert"]')?.textContent).toBe('The host refused: nobody has trusted /work/shop');
    expect(row('c-a').querySelector('[role="alert"]')).toBeNull();
  });

  it('follows the host as it goes', () => {
    open([server('a', {kind: 'stopped'})]);
    shown.doing(() => shown.store.apply(SESSION, {type: 'session/mcpServerStateChanged', id: 'c-a', state: {kind: 'error', error: {errorType: 'timeout', message: 'It never answered.'}}}));
    expect(row('c-a').textContent).toContain('It never answered.');
    shown.doing(() => shown.store.apply(SESSION, {type: 'session/customizationRemoved', id: 'c-a'}));
    expect(shown.box.textContent).toContain('Nothing was brought');
  });

  it('that is off is not started, and says by whose decision', () => {
    open([
      server('a', {kind: 'stopped'}, {enablement: [{kind: 'workspace', uri: FOLDER, enabled: false}, {kind: 'global', enabled: true}]}),
      {type: 'plugin', id: 'p', uri: 'file:///p', name: 'Plug', enablement: [{kind: 'global', enabled: false}], children: [server('b', {kind: 'stopped'})]},
    ]);
    expect(row('c-a').querySelector('[role="status"]')?.textContent).toBe('Off in this workspace');
    expect(row('c-b').querySelector('[role="status"]')?.textContent).toBe('Off with Plug');
    shown.doing(() => shown.button('Start: a').click());
    shown.doing(() => shown.button('Start: b').click());
    expect(shown.store.acts).toEqual([]);
    expect(shown.button('Start: a').title).toBe('It is off. Switch it on first.');
  });

  it('shows its log as a terminal, which the host is asked for where it is not told', async () => {
    open([server('a', {kind: 'ready'}, {_meta: {'agenthost/log': 'ahp-terminal:/log-a'}}), server('b', {kind: 'ready'})], {answers: {'agenthost/mcpLog': () => ({terminal: 'ahp-terminal:/log-b'})}});
    shown.doing(() => shown.button('Log: a').click());
    await vi.waitFor(() => expect(route.value).toMatchObject({session: SESSION, panel: 'terminals', file: 'ahp-terminal:/log-a'}));
    expect(shown.store.asks).toEqual([]);
    shown.doing(() => shown.button('Log: b').click());
    await vi.waitFor(() => expect(route.value).toMatchObject({panel: 'terminals', file: 'ahp-terminal:/log-b'}));
    expect(shown.store.asks).toEqual([{method: 'agenthost/mcpLog', params: {channel: SESSION, id: 'c-b'}}]);
  });

  it('that needs a sign-in takes a token, which is nowhere afterwards', async () => {
    open([server('web', auth({resource: {resource: 'http://127.0.0.1:1/mcp', authorization_servers: ['javascript:alert(1)', 'https://as.example/', `https://evil.example/${'x'.repeat(1000)}`]}}))], {answers: {authenticate: () => ({})}});
    expect([...row('c-web').querySelectorAll('a')].map(link => link.href).filter(href => href.startsWith('http') && !href.includes('/s/s'))).toEqual(['https://as.example/']);
    const field = row('c-web').querySelector<HTMLInputElement>('input[type="password"]')!;
    shown.doing(() => {
      field.value = ' secret ';
      field.dispatchEvent(new Event('input', {bubbles: true}));
    });
    shown.doing(() => void row('c-web').querySelector('form')!.dispatchEvent(new Event('submit', {bubbles: true, cancelable: true})));
    await vi.waitFor(() => expect(shown.store.asks).toEqual([{method: 'authenticate', params: {resource: 'http://127.0.0.1:1/mcp', token: 'secret', scopes: ['tools']}}]));
    expect(field.value).toBe('');
  });
});

describe('a switch', () => {
  const decisions = [{kind: 'workspace', uri: FOLDER, enabled: false}, {kind: 'global', enabled: true}];
  const choose = (scope: string, value: string): void => shown.doing(() => {
    const label = [...shown.box.querySelectorAll<HTMLLabelElement>('.tools-scope label')].find(one => one.textContent === scope)!;
    const select = shown.box.querySelector<HTMLSelectElement>(`[id="${label.htmlFor}"]`)!;
    select.value = value;
    select.dispatchEvent(new Event('change', {bubbles: true}));
  });

  it('decides for this session, and keeps what was decided for others', () => {
    open([server('a', {kind: 'stopped'}, {enablement: decisions})]);
    expect(switchOf('a').checked).toBe(false);
    shown.doing(() => switchOf('a').click());
    expect(last().action).toEqual({type: 'session/customizationToggled', id: 'c-a', enablement: [{kind: 'session', enabled: true}, ...decisions]});
    expect(switchOf('a').checked).toBe(true);
  });

  it('has a scope, in which a decision can be taken back too', () => {
    open([server('a', {kind: 'stopped'}, {enablement: decisions})]);
    shown.doing(() => shown.button('Where a is used').click());
    choose('Everywhere', 'off');
    expect(last().action.enablement).toEqual([decisions[0], {kind: 'global', enabled: false}]);
    choose('This workspace', 'none');
    expect(last().action.enablement).toEqual([{kind: 'global', enabled: false}]);
    choose('Everywhere', 'none');
    expect(last().action.enablement).toEqual([]);
    expect(switchOf('a').checked).toBe(true);
  });

  it('has no workspace where there is no folder', () => {
    open([server('a', {kind: 'stopped'})], {}, {workingDirectories: []});
    shown.doing(() => shown.button('Where a is used').click());
    expect([...shown.box.querySelectorAll('.tools-scope label')].map(label => label.textContent)).toEqual(['This session', 'Everywhere']);
  });

  it('of a skill, a folder and a plugin says the same', () => {
    open([skills(skill('bake'), skill('fry', {enabled: false})), {type: 'plugin', id: 'p', uri: 'file:///p', name: 'Plug', version: '2', children: []}]);
    expect([switchOf('bake').checked, switchOf('fry').checked, switchOf('Skills').checked, switchOf('Plug').checked]).toEqual([true, false, true, true]);
    shown.doing(() => switchOf('fry').click());
    shown.doing(() => switchOf('Skills').click());
    shown.doing(() => switchOf('Plug').click());
    expect(shown.store.acts.map(({action}) => action)).toEqual([
      {type: 'session/customizationToggled', id: 'c-fry', enablement: [{kind: 'session', enabled: true}]},
      {type: 'session/customizationToggled', id: 'c-skills', enablement: [{kind: 'session', enabled: false}]},
      {type: 'session/customizationToggled', id: 'p', enablement: [{kind: 'session', enabled: false}]},
    ]);
  });

  it('is an operator\'s in the session alone: the rest is shown, and an owner\'s', () => {
    open([server('a', {kind: 'stopped'}, {enablement: decisions})], {me: {name: 'o', role: 'operator'}});
    shown.doing(() => shown.button('Where a is used').click());
    const selects = [...shown.box.querySelectorAll<HTMLSelectElement>('.tools-scope select')];
    expect(selects.map(select => select.disabled)).toEqual([false, true, true]);
    expect(selects.map(select => select.value)).toEqual(['none', 'off', 'on']);
    expect(shown.box.textContent).toContain('only owners decide');
  });

  it('is not for who may only look', () => {
    open([server('a', {kind: 'stopped'}), skills(skill('bake'))], {me: {name: 'v', role: 'viewer'}});
    expect([switchOf('a').disabled, switchOf('bake').disabled]).toEqual([true, true]);
    shown.doing(() => shown.button('Start: a').click());
    expect(shown.store.acts).toEqual([]);
    expect(shown.button('Start: a').title).toBe('You can look, not act.');
  });
});

describe('trust', () => {
  const untrusted = (name: string, state = 'untrusted'): Json => server(name, {kind: 'stopped'}, {_meta: {'agenthost/trust': {folder: FOLDER, state}, 'agenthost/runs': `npx -y ${name} --token ***`}});
  const answers = {'agenthost/trustFolder': () => null, 'agenthost/forgetTrust': () => null};

  it('is given by an owner who has seen what would run', async () => {
    open([untrusted('a'), untrusted('b'), untrusted('c', 'trusted')], {answers});
    expect(shown.box.textContent).toContain('Not trusted yet, so not started: a, b (of /work/shop).');
    expect([row('c-a'), row('c-c')].map(each => each.querySelector('[role="status"]')?.textContent)).toEqual(['Not running, not trusted', 'Not running']);
    shown.doing(() => shown.button('Trust...').click());
    expect([...shown.box.querySelectorAll('dialog pre')].map(text => text.textContent)).toEqual(['npx -y a --token ***', 'npx -y b --token ***']);
    expect(shown.store.asks).toEqual([]);
    shown.doing(() => shown.button('Trust').click());
    await vi.waitFor(() => expect(shown.store.asks).toEqual([{method: 'agenthost/trustFolder', params: {channel: SESSION, ids: ['c-a', 'c-b']}}]));
  });

  it('is taken back', async () => {
    open([untrusted('a', 'trusted')], {answers});
    shown.doing(() => shown.button('Forget the trust in /work/shop').click());
    await vi.waitFor(() => expect(shown.store.asks).toEqual([{method: 'agenthost/forgetTrust', params: {folder: FOLDER}}]));
  });

  it.each(['operator', 'viewer'] as const)('is told to an %s, who cannot give it here', role => {
    open([untrusted('a')], {answers, me: {name: 'o', role}});
    expect(shown.box.textContent).toContain('An owner can.');
    expect(shown.box.textContent!.includes('You are asked when a turn needs them')).toBe(role === 'operator');
    expect(() => shown.button('Trust...')).toThrow();
  });

  it('that the host refuses to give is told', async () => {
    open([untrusted('a')], {answers: {'agenthost/trustFolder': () => { throw new WireError(-32008, 'owners only'); }}});
    shown.doing(() => shown.button('Trust...').click());
    shown.doing(() => shown.button('Trust').click());
    await vi.waitFor(() => expect(shown.find('.tools-trust [role="alert"]').textContent).toBe('The host refused: owners only'));
  });
});

describe('what is brought', () => {
  it('is listed by where it lies, what is wrong first', () => {
    open([
      server('x', {kind: 'stopped'}, {_meta: {'agenthost/problem': 'asks for an input'}}),
      {...skills(skill('bake'), skill('burn', {description: undefined, range: {start: {line: 2, character: 0}, end: {line: 2, character: 1}}, _meta: {'agenthost/problem': 'line 3: no name'}})), load: {kind: 'degraded', message: '1 of 2 cannot be used: burn/SKILL.md: line 3'}},
      {type: 'plugin', id: 'p', uri: 'file:///p', name: 'Plug', load: {kind: 'error', message: 'the manifest is no JSON'}},
    ]);
    const problems = [...shown.box.querySelectorAll('.tools-problems li')].map(item => item.textContent);
    expect(problems).toEqual(['x .mcp.jsonasks for an input', 'burn .agents/skills/burn/SKILL.mdline 3: no name', 'Plug /pthe manifest is no JSON']);
    expect([...shown.box.querySelectorAll('.tools-leaf')].map(leaf => leaf.getAttribute('data-entry'))).toEqual(['c-burn', 'c-bake']);
    expect(buttons('c-x')).toEqual(['Log']);
    expect(shown.find<HTMLAnchorElement>('.tools-problems li:nth-child(2) a').getAttribute('href')).toContain('file=.agents%2Fskills%2Fburn%2FSKILL.md&line=3');
  });

  it('says how it comes to be used', () => {
    const folder = (contents: string, ...children: Json[]): Json => ({...skills(...children), id: contents, contents, name: contents});
    const leaf = (type: string, more: Json): Json => ({type, id: `${type}${JSON.stringify(more)}`, uri: `${FOLDER}/x`, name: 'x', ...more});
    open([folder('rule', leaf('rule', {alwaysApply: true}), leaf('rule', {globs: ['*.py', '*.pyi']})), folder('hook', leaf('hook', {})), folder('agent', leaf('agent', {model: 'fast', tools: ['read'], disableModelInvocation: true})), folder('skill', leaf('skill', {disableUserInvocation: true}))]);
    const facts = [...shown.box.querySelectorAll('.tools-leaf .tools-about')].map(fact => fact.textContent?.trim());
    expect(facts).toEqual(['always in use', 'for *.py, *.pyi', 'listed, not run by this host', 'answers with fast · uses read · only when you name it', 'only when the agent wants it']);
  });

  it('is shown in pieces where there is much', () => {
    open([skills(...Array.from({length: 1000}, (_, index) => skill(`s${index}`)))]);
    expect(shown.box.querySelectorAll('.tools-leaf').length).toBe(0);
    shown.doing(() => shown.find<HTMLButtonElement>('.tools-fold').click());
    expect(shown.box.querySelectorAll('.tools-leaf').length).toBe(100);
    shown.doing(() => shown.button('Show 100 more').click());
    expect(shown.box.querySelectorAll('.tools-leaf').length).toBe(200);
  });

  it('of a hostile folder shows nothing hidden, at length or as HTML', () => {
    const evil = `<img src=x onerror=alert(1)>\u202e\u0000${'x'.repeat(1_000_000)}`;
    open([
      server(evil, {kind: 'error', error: {errorType: evil, message: evil}}, {id: 'evil', uri: `file:///${evil}`, _meta: {'agenthost/runs': evil, 'agenthost/problem': 7, 'agenthost/trust': {folder: evil, state: 'untrusted'}}}),
      {...skills(skill(evil, {id: 'worse', description: evil, _meta: {'agenthost/problem': evil}})), name: evil, uri: `file:///${evil}`, load: {kind: 'error', message: evil}},
    ]);
    expect(shown.box.querySelector('img')).toBeNull();
    expect(shown.box.textContent).toContain('<img src=x onerror=alert(1)>⟨U+202E⟩⟨U+0000⟩');
    expect(shown.box.textContent!.length).toBeLessThan(20_000);
    expect(shown.box.textContent).not.toContain('\u202e');
    expect(shown.box.textContent).not.toContain('\u0000');
    const attributes = [...shown.box.querySelectorAll('*')].flatMap(element => [...element.attributes].map(({value}) => value.length));
    expect(Math.max(...attributes)).toBeLessThan(3000);
  });
});

it('says what there could be, and that nobody has looked', () => {
  open(undefined);
  expect(shown.box.textContent).toBe('The host has not looked yet.');
  shown.doing(() => shown.store.set(SESSION, sessionWith([])));
  expect(shown.box.textContent).toContain('AGENTS.md');
});
