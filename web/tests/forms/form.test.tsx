// @vitest-environment happy-dom
import {useState} from 'preact/hooks';
import {afterEach, expect, test, vi} from 'vitest';
import {type Complete, SchemaForm} from '../../src/forms/form.tsx';
import type {SettingsSchema, Values} from '../../src/forms/schema.ts';
import {type Shown, show} from '../fakes/render.tsx';

let page: Shown;
let values: Values;
afterEach(() => {
  page.remove();
  vi.useRealTimers();
});

function Held({schema, given, complete}: {schema: SettingsSchema; given: Values; complete?: Complete}) {
  const [held, setHeld] = useState(given);
  values = held;
  return <SchemaForm schema={schema} values={held} onChange={setHeld} complete={complete} />;
}

function open(properties: object, given: Values = {}, complete?: Complete): void {
  page = show(<Held schema={{properties: properties as never}} given={given} {...(complete ? {complete} : {})} />);
}

function type(element: HTMLInputElement | HTMLTextAreaElement, text: string): void {
  page.doing(() => {
    element.value = text;
    element.dispatchEvent(new Event('input', {bubbles: true}));
  });
}
const labelled = <E extends HTMLElement>(name: string): E => {
  const label = [...page.box.querySelectorAll('label')].find(one => one.textContent?.startsWith(name));
  return page.box.querySelector<E>(`[id="${label?.htmlFor}"]`)!;
};

test('each kind is edited by its own control', () => {
  open({
    name: {type: 'string', title: 'Name'},
    count: {type: 'number', title: 'Count'},
    on: {type: 'boolean', title: 'On'},
    mode: {type: 'string', title: 'Mode', enum: ['a', 'b'], enumLabels: ['Alpha', 'Beta'], default: 'a'},
  });
  type(labelled('Name'), 'x');
  type(labelled('Count'), '1.5');
  page.doing(() => labelled('On').click());
  const mode = labelled<HTMLSelectElement>('Mode');
  expect(mode.selectedOptions[0]?.textContent).toBe('Alpha');
  page.doing(() => {
    mode.value = '1';
    mode.dispatchEvent(new Event('change', {bubbles: true}));
  });
  expect(values).toEqual({name: 'x', count: 1.5, on: true, mode: 'b'});
});

test('a number that is none stays as typed, and says what is wrong', () => {
  open({count: {type: 'number', title: 'Count'}});
  type(labelled('Count'), '1.');
  expect(labelled<HTMLInputElement>('Count').value).toBe('1.');
  type(labelled('Count'), '1.x');
  expect(labelled<HTMLInputElement>('Count').value).toBe('1.x');
  expect(page.box.textContent).toContain('This is not a number.');
  expect(labelled('Count').getAttribute('aria-invalid')).toBe('true');
});

test('lists grow and shrink within their limits', () => {
  open({tags: {type: 'array', title: 'Tags', items: {type: 'string'}, maxItems: 2}}, {tags: ['a']});
  page.doing(() => page.button('Add: Tags').click());
  expect(values).toEqual({tags: ['a', '']});
  expect(page.box.querySelector('[aria-label="Add: Tags"]')).toBeNull();
  page.doing(() => page.button('Remove Tags 1').click());
  expect(values).toEqual({tags: ['']});
});

test('many choices keep the order of the schema', () => {
  open({tools: {type: 'array', title: 'Tools', items: {type: 'string', enum: ['a', 'b', 'c']}}}, {tools: ['c']});
  page.doing(() => page.box.querySelectorAll<HTMLInputElement>('.forms-tick input')[0]!.click());
  expect(values).toEqual({tools: ['a', 'c']});
});

test('objects are groups, and what is odder is JSON', () => {
  open({
    limits: {type: 'object', title: 'Limits', properties: {cpu: {type: 'number', title: 'CPU'}}},
    raw: {type: 'array', title: 'Raw'},
  });
  type(labelled('CPU'), '2');
  type(labelled('Raw'), '[1');
  expect(page.box.textContent).toContain('This is not JSON yet.');
  type(labelled('Raw'), '[1]');
  expect(values).toEqual({limits: {cpu: 2}, raw: [1]});
});

test('the host is asked once for choices, after a pause, and its answer can be chosen', async () => {
  vi.useFakeTimers();
  const complete = vi.fn(async (_: string, query: string) => [{value: `${query}-1`, label: `${query} one`, description: undefined}]);
  open({branch: {type: 'string', title: 'Branch', enumDynamic: true, enum: ['main'], default: 'main'}}, {}, complete);
  const field = labelled<HTMLInputElement>('Branch');
  expect(field.value).toBe('main');
  type(field, 'fe');
  type(field, 'feat');
  await vi.advanceTimersByTimeAsync(200);
  page.doing(() => {});
  expect(complete.mock.calls).toEqual([['branch', 'feat']]);
  page.doing(() => void field.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true, cancelable: true})));
  expect(values).toEqual({branch: 'feat-1'});
});

test('settings that can only be read are shown fixed, or left out', () => {
  const schema = {properties: {fixed: {type: 'string', title: 'Fixed', readOnly: true}}} as never;
  page = show(<SchemaForm schema={schema} values={{fixed: 'x'}} onChange={() => {}} />);
  expect(labelled<HTMLInputElement>('Fixed').disabled).toBe(true);
  page.again(<SchemaForm schema={schema} values={{}} onChange={() => {}} hideReadOnly />);
  expect(page.box.textContent).toBe('');
});
