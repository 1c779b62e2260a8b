// @vitest-environment happy-dom
import {afterEach, beforeEach, expect, test} from 'vitest';
import {go, route} from '../../src/route.ts';
import {App} from '../../src/shell/app.tsx';
import {helpIsOpen} from '../../src/shell/help.tsx';
import {found, paletteItems} from '../../src/shell/palette_items.ts';
import {paletteIsOpen} from '../../src/shell/palette.tsx';
import {type Shown, show} from '../fakes/render.tsx';
import {fakeStore} from '../fakes/store.ts';

const session = (id: string, title: string, day: number, more: object = {}) => ({
  resource: `ahp-session:/${id}`, provider: 'demo', title, status: 1, createdAt: '2026-01-01T00:00:00Z', modifiedAt: `2026-01-0${day}T00:00:00Z`, ...more,
});
const SESSIONS = [
  session('a', 'Fix login race', 1),
  session('b', 'Write the docs', 3, {defaultChat: 'ahp-chat:/b', chats: [{resource: 'ahp-chat:/b', title: 'Main'}, {resource: 'ahp-chat:/w', title: 'Proofreading'}]}),
];

let shown: Shown;
const press = (key: string, o: KeyboardEventInit = {}): void =>
  shown.doing(() => void (document.activeElement ?? document.body).dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true, ...o})));
const type = (text: string): void =>
  shown.doing(() => {
    const field = shown.find<HTMLInputElement>('.shell-palette-field');
    field.value = text;
    field.dispatchEvent(new Event('input', {bubbles: true}));
  });
const options = (): string[] => [...shown.box.querySelectorAll('[role="option"] .shell-palette-words')].map(each => each.textContent ?? '');

beforeEach(() => {
  go({at: 'list'});
  shown = show(<App />, fakeStore({sessions: SESSIONS}));
});
afterEach(() => {
  paletteIsOpen.value = false;
  helpIsOpen.value = false;
  shown.remove();
});

test('Ctrl+K finds a session by a few letters, and Enter goes there', () => {
  press('k', {ctrlKey: true});
  type('lgn ra');
  expect(options()[0]).toBe('Fix login race');
  press('Enter');
  expect(route.value).toMatchObject({at: 'session', session: 'ahp-session:/a'});
  expect(shown.box.querySelector('.shell-palette')).toBeNull();
});

test('without a question the newest session comes first, and arrows choose', () => {
  press('k', {ctrlKey: true});
  expect(options()[0]).toBe('Write the docs');
  press('ArrowDown');
  expect(shown.find('[aria-selected="true"]').textContent).toContain('Fix login race');
});

test('chats and commands are found too', () => {
  const items = paletteItems(SESSIONS, [{id: 'x', words: 'Show the keys', run: () => {}}, {id: 'y', words: 'Show nothing', when: () => false, run: () => {}}]);
  expect(found(items, 'proof').map(item => item.words)).toEqual(['Proofreading']);
  expect(found(items, 'keys').map(item => item.words)).toEqual(['Show the keys']);
  expect(found(items, 'nothing')).toEqual([]);
});

test('what is not there is said', () => {
  press('k', {ctrlKey: true});
  type('zzzzzz');
  expect(shown.find('.shell-palette').textContent).toContain('Nothing found.');
});

test('? shows every command that has a key', () => {
  press('?', {shiftKey: true});
  expect(shown.find('.shell-help').textContent).toContain('Open the palette');
  expect(shown.find('.shell-help').textContent).toContain('Ctrl+K');
});
