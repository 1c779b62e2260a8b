import {describe, expect, test} from 'vitest';
import {fieldsOf, NotJson, parsedJson, problemsOf, sendable, type SettingsSchema, valueOf, withValue, withoutLookedUp} from '../../src/forms/schema.ts';

const schema = (properties: object, required: string[] = []): SettingsSchema => ({properties: properties as never, required});
const kinds = (properties: object): string[] => fieldsOf(schema(properties)).map(field => field.kind);

describe('which control a setting gets', () => {
  test.each([
    [{type: 'string'}, 'text'],
    [{type: 'number'}, 'number'],
    [{type: 'boolean'}, 'switch'],
    [{type: 'string', enum: ['a']}, 'choice'],
    [{type: 'number', enum: [1, 2]}, 'choice'],
    [{type: 'string', enumDynamic: true, enum: ['main']}, 'dynamic'],
    [{type: 'array', items: {type: 'string'}}, 'list'],
    [{type: 'array', items: {type: 'string', enum: ['a']}}, 'many'],
    [{type: 'array', items: {type: 'object'}}, 'json'],
    [{type: 'array'}, 'json'],
    [{type: 'object', properties: {a: {type: 'string', title: 'A'}}}, 'group'],
    [{type: 'object', additionalProperties: {type: 'string'}}, 'json'],
    [{type: 'from another time'}, 'json'],
  ])('%j is %s', (property, kind) => expect(kinds({x: {title: 'X', ...property}})).toEqual([kind]));

  test('objects inside objects are text', () => {
    const inner = {type: 'object', title: 'I', properties: {}};
    const [field] = fieldsOf(schema({outer: {type: 'object', title: 'O', properties: {inner}}}));
    expect(field).toMatchObject({kind: 'group', fields: [{kind: 'json'}]});
  });

  test('choices have their labels and descriptions, else their value', () => {
    const [field] = fieldsOf(schema({m: {type: 'string', title: 'M', enum: ['a', 'b'], enumLabels: ['Alpha'], enumDescriptions: ['first']}}));
    expect(field).toMatchObject({choices: [{value: 'a', label: 'Alpha', description: 'first'}, {value: 'b', label: 'b'}]});
  });
});

describe('what is wrong', () => {
  const all = schema(
    {
      name: {type: 'string', title: 'Name'},
      count: {type: 'number', title: 'Count'},
      mode: {type: 'string', title: 'Mode', enum: ['fast', 'slow'], default: 'fast'},
      tags: {type: 'array', title: 'Tags', items: {type: 'string'}, minItems: 1, maxItems: 2},
      limits: {type: 'object', title: 'Limits', properties: {cpu: {type: 'number', title: 'CPU'}}, required: ['cpu']},
      raw: {type: 'array', title: 'Raw'},
      fixed: {type: 'string', title: 'Fixed', readOnly: true},
    },
    ['name', 'mode', 'fixed'],
  );
  const why = (values: object): object => Object.fromEntries([...problemsOf(all, values)].map(([key, problem]) => [key, problem.why]));

  test('a required value is missing, unless there is a default or it is read-only', () => expect(why({})).toEqual({name: 'missing'}));
  test('each kind has its own', () => {
    const values = {name: 'x', count: 'many', mode: 'other', tags: ['a', 'b', 'c'], limits: {}, raw: new NotJson('{')};
    expect(why(values)).toEqual({count: 'notNumber', mode: 'notListed', tags: 'tooMany', limits: 'missing', raw: 'notJson'});
  });
  test('too few items', () => expect(problemsOf(all, {name: 'x', tags: []}).get('tags')).toEqual({why: 'tooFew', limit: 1}));
  test('only what the schema knows and may be changed is sent', () => {
    expect(sendable(all, {name: 'x', fixed: 'y', other: 1, count: '', raw: new NotJson('{')})).toEqual({name: 'x'});
  });
});

test('values may be called like members of every object', () => {
  const odd = schema(JSON.parse('{"__proto__": {"type": "string", "title": "P"}, "constructor": {"type": "string", "title": "C"}}'), ['constructor']);
  expect(fieldsOf(odd).map(field => field.key)).toEqual(['__proto__', 'constructor']);
  expect(problemsOf(odd, {}).get('constructor')).toEqual({why: 'missing'});
  const set = withValue({}, '__proto__', 'v');
  expect(valueOf(odd, set, '__proto__')).toBe('v');
  expect(Object.keys(sendable(odd, set))).toEqual(['__proto__']);
});

test('typed JSON', () => {
  expect(parsedJson(' ')).toBeUndefined();
  expect(parsedJson('[1]')).toEqual([1]);
  expect(parsedJson('[1')).toBeInstanceOf(NotJson);
});

test('in another folder other branches are to be chosen, the rest stays', () => {
  const place = schema({branch: {type: 'string', title: 'B', enumDynamic: true}, mode: {type: 'string', title: 'M', enum: ['a']}});
  expect(withoutLookedUp(place, {branch: 'x', mode: 'a'})).toEqual({mode: 'a'});
  expect(withoutLookedUp(undefined, {branch: 'x'})).toEqual({branch: 'x'});
});
