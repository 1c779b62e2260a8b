/** What is the host's own: what it says of itself, what is told to it, and answers built from plain values. */
import {describe, expect, test} from 'vitest';
import {completion, contentChange} from '../../src/ahp/actions.ts';
import {NoAnswer, answersTo} from '../../src/ahp/answers.ts';
import {Core, type JsonRpc, hostMembers} from '../../src/ahp/index.ts';
import {learnAbout} from '../../src/ahp/resume.ts';
import type {Json} from './corpus.ts';

const submitted = (value: Json): Json => ({state: 'submitted', value});
const meta = (members: Json): Json => ({protocolVersion: '1.0.0', serverSeq: 0, snapshots: [], _meta: members});

describe('what the host says of itself', () => {
  test('is read where it is what it should be', () => {
    const told = meta({'agenthost/me': {name: 'ana', role: 'viewer'}, 'agenthost/page': 'b1', 'agenthost/push': 'key'});
    expect(hostMembers(told)).toEqual({me: {name: 'ana', role: 'viewer'}, page: 'b1', push: 'key'});
  });

  test('is nothing where it is something else', () => {
    const none = {me: undefined, page: undefined, push: undefined};
    for (const odd of [{}, {'agenthost/me': null}, {'agenthost/me': {name: 1, role: 'owner'}, 'agenthost/page': 7}, {'agenthost/me': {name: 'x', role: 'king'}, 'agenthost/push': ''}]) {
      expect(hostMembers(meta(odd))).toEqual(none);
    }
    expect(hostMembers(undefined)).toEqual(none);
    expect(hostMembers({...meta({}), _meta: null} as Json)).toEqual(none);
  });

  test('is said anew when the client comes back, and the rest stays', async () => {
    const sent: Json[] = [];
    const core = new Core({clientId: 'me', firstSeq: 1, timer: {now: () => 0, after: () => () => {}}, introduce: () => ({channel: 'ahp-root://', clientId: 'me', protocolVersions: ['1.0.0']})});
    const wire = {send: (frame: JsonRpc) => void sent.push(frame), close: () => {}};
    const reply = (result: Json): void => core.receive({jsonrpc: '2.0', id: sent.at(-1).id, result});
    expect(core.tell('agenthost/visible', {visible: true})).toBe(false);
    core.follow('ahp-root://');
    const first = core.attach(wire);
    reply({...meta({'agenthost/page': 'b1', other: 1}), snapshots: [{resource: 'ahp-root://', fromSeq: 0, state: {agents: []}}]});
    await first;
    expect(core.tell('agenthost/visible', {visible: true})).toBe(true);
    expect(sent.at(-1)).toMatchObject({method: 'agenthost/visible', params: {channel: 'ahp-root://', visible: true}});
    expect(sent.at(-1).id).toBeUndefined();
    const second = core.attach(wire);
    expect(core.tell('agenthost/visible', {visible: true})).toBe(false);
    reply({type: 'replay', actions: [], missing: []});
    await second;
    const learnt = learnAbout(core);
    reply({page: 'b2'});
    await learnt;
    expect(core.host?._meta).toEqual({'agenthost/page': 'b2', other: 1});
  });
});

describe('answers from plain values', () => {
  const options = [{id: 'a', label: 'b'}, {id: 'b', label: 'B'}];
  const request: Json = {
    questions: [
      {id: 't', kind: 'text'},
      {id: 'n', kind: 'integer'},
      {id: 'y', kind: 'boolean'},
      {id: 'one', kind: 'single-select', options},
      {id: 'free', kind: 'single-select', options, allowFreeformInput: true},
      {id: 'many', kind: 'multi-select', options, allowFreeformInput: true},
      {id: '__proto__', kind: 'text'},
    ],
  };

  test('are what each kind of question takes', () => {
    expect(answersTo(request, {t: 'x', n: 2, y: false, one: 'B', free: 'other', many: ['b', 'c']})).toEqual({
      t: submitted({kind: 'text', value: 'x'}),
      n: submitted({kind: 'number', value: 2}),
      y: submitted({kind: 'boolean', value: false}),
      one: submitted({kind: 'selected', value: 'b'}),
      free: submitted({kind: 'selected', value: '', freeformValues: ['other']}),
      // By its id before any label.
      many: submitted({kind: 'selected-many', value: ['b'], freeformValues: ['c']}),
    });
  });

  test('skip, and stay as they are where they are spelled out', () => {
    const spelled = {state: 'submitted', value: {kind: 'text', value: 'y'}};
    expect(answersTo(request, {t: null, n: spelled})).toEqual({t: {state: 'skipped'}, n: spelled});
    expect(answersTo(request, {})).toEqual({});
  });

  test('may be for a question of any name', () => {
    const answers = answersTo(request, JSON.parse('{"__proto__": "x"}'));
    expect(Object.hasOwn(answers, '__proto__')).toBe(true);
    expect(Object.keys(answers)).toEqual(['__proto__']);
  });

  test.each([{t: 1}, {n: '2'}, {n: Number.NaN}, {y: 'yes'}, {one: 'zzz'}, {one: ['a']}, {many: 'a'}, {unasked: 'x'}])('that do not fit are refused: %j', given => {
    expect(() => answersTo(request, given)).toThrow(NoAnswer);
  });
});

test('a call of the client itself shows what it has so far, and ends with its result', () => {
  const content = [{type: 'text', text: 'half'}];
  expect(contentChange('t', 'c', content)).toEqual({type: 'chat/toolCallContentChanged', turnId: 't', toolCallId: 'c', content});
  expect(completion('t', 'c', {success: true})).toEqual({type: 'chat/toolCallComplete', turnId: 't', toolCallId: 'c', result: {success: true}});
});
