// @vitest-environment happy-dom
import {afterEach, expect, test} from 'vitest';
import {bareKeys, command, commands, runKeys} from '../../src/ui/commands.ts';

const press = (key: string, o: KeyboardEventInit = {}, target: Element = document.body): KeyboardEvent => {
  const event = new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true, ...o});
  target.dispatchEvent(event);
  return event;
};

let ran: string[] = [];
let drops: (() => void)[] = [];
const add = (id: string, keys: string[], when?: () => boolean): void => {
  drops.push(command({id, words: id, keys, run: () => void ran.push(id), ...(when ? {when} : {})}));
};
document.addEventListener('keydown', runKeys);
afterEach(() => {
  for (const drop of drops) drop();
  drops = [];
  ran = [];
  bareKeys.value = true;
  document.body.replaceChildren();
});

test('a key runs its command, with Ctrl also out of a field', () => {
  add('palette', ['Mod+K']);
  const field = document.body.appendChild(document.createElement('textarea'));
  expect(press('k', {ctrlKey: true}, field).defaultPrevented).toBe(true);
  expect(ran).toEqual(['palette']);
});

test('a letter typed into a field is text', () => {
  add('new', ['c']);
  const field = document.body.appendChild(document.createElement('input'));
  expect(press('c', {}, field).defaultPrevented).toBe(false);
  press('c');
  expect(ran).toEqual(['new']);
});

test('single letters can be turned off', () => {
  add('help', ['?']);
  bareKeys.value = false;
  press('?', {shiftKey: true});
  expect(ran).toEqual([]);
  bareKeys.value = true;
  press('?', {shiftKey: true});
  expect(ran).toEqual(['help']);
});

test('of commands with one key, the one that can be used now runs', () => {
  add('never', ['e'], () => false);
  add('now', ['e']);
  press('e');
  expect(ran).toEqual(['now']);
});

test('a command with the same id takes the place of the first', () => {
  add('one', ['a']);
  add('one', ['b']);
  expect(commands.value.filter(each => each.id === 'one')).toHaveLength(1);
});
