/** The mirror: what shows, what the host confirmed, and how the one becomes the other. */
import fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {DoesNotFit, Mirror} from '../../src/ahp/mirror.ts';
import {reduce} from '../../src/ahp/reduction.ts';
import {MOST_KEPT, printed} from '../../src/ahp/scrollback.ts';
import {type Json, frozen} from './corpus.ts';

const NOW = '2026-01-01T00:00:00.000Z';
const SESSION: Json = frozen({provider: 'demo', title: 'First', status: 1, lifecycle: 'ready', activeClients: [], chats: []});
const CHAT: Json = frozen({
  resource: 'ahp-chat:/1', title: 'Chat', status: 8, modifiedAt: NOW, turns: [],
  activeTurn: {id: 't', startedAt: NOW, message: {text: 'hi', origin: {kind: 'user'}}, responseParts: [{kind: 'markdown', id: 'p', content: ''}]},
});
const titled = (title: string): Json => ({type: 'session/titleChanged', title});
const delta = (content: string): Json => ({type: 'chat/delta', turnId: 't', partId: 'p', content});
const draft = (text: string): Json => ({type: 'chat/draftChanged', draft: {text, origin: {kind: 'user'}}});
const envelope = (serverSeq: number, action: Json, clientSeq?: number, more: Json = {}): Json => ({
  channel: 'c', serverSeq, action, ...(clientSeq === undefined ? {} : {origin: {clientId: 'me', clientSeq}}), ...more,
});
const session = (): Mirror<'session'> => new Mirror('session', SESSION, 10, {clientId: 'me'});

describe('one action of ours', () => {
  test('shows at once, and is confirmed by its echo', () => {
    const mirror = session();
    mirror.dispatch(1, titled('Mine'));
    expect([mirror.state.title, mirror.confirmed.title, mirror.pending]).toEqual(['Mine', 'First', [1]]);
    expect(mirror.receive(envelope(11, titled('Mine'), 1))).toEqual({verdict: 'applied', own: true});
    expect([mirror.confirmed.title, mirror.pending]).toEqual(['Mine', []]);
    expect(mirror.state).toBe(mirror.confirmed);
  });

  test('is taken back by a refusal', () => {
    const mirror = session();
    mirror.dispatch(1, titled('Mine'));
    expect(mirror.receive(envelope(11, titled('Mine'), 1, {rejectionReason: 'no'}))).toEqual({verdict: 'rejected', own: true});
    expect(mirror.state).toBe(SESSION);
  });

  test('stays on top of what others do until it is answered', () => {
    const mirror = session();
    mirror.dispatch(1, titled('Mine'));
    expect(mirror.receive(envelope(11, titled('Theirs')))).toEqual({verdict: 'applied', own: false});
    expect([mirror.state.title, mirror.confirmed.title]).toEqual(['Mine', 'Theirs']);
  });

  test('with the same number from another client answers nothing', () => {
    const mirror = session();
    mirror.dispatch(1, titled('Mine'));
    mirror.receive({...envelope(11, titled('Theirs')), origin: {clientId: 'you', clientSeq: 1}});
    expect(mirror.pending).toEqual([1]);
  });
});

test('what was seen before counts for nothing', () => {
  const mirror = session();
  expect(mirror.receive(envelope(10, titled('Old')))).toEqual({verdict: 'stale', own: false});
  expect(mirror.state).toBe(SESSION);
});

test('a snapshot starts over, with lower numbers too', () => {
  const mirror = session();
  mirror.dispatch(1, titled('Mine'));
  mirror.reset(SESSION, 3);
  expect([mirror.state, mirror.seq, mirror.pending]).toEqual([SESSION, 3, []]);
});

test('an action that does not fit the state asks for a snapshot', () => {
  const mirror = new Mirror('chat', frozen({turns: null}) as Json, 0);
  expect(() => mirror.receive(envelope(1, {type: 'chat/turnsLoaded', turns: []}))).toThrow(DoesNotFit);
});

test('streamed text does not run a pending draft again', () => {
  let calls = 0;
  const counting: typeof reduce = (kind, state, action) => {
    if (action.type === 'chat/draftChanged') calls += 1;
    return reduce(kind, state, action);
  };
  const mirror = new Mirror('chat', CHAT, 0, {clientId: 'me', reduce: counting});
  mirror.dispatch(1, draft('so far'));
  for (let seq = 1; seq <= 100; seq += 1) {
    mirror.receive(envelope(seq, delta('x')));
    expect((mirror.state as Json).activeTurn.responseParts[0].content).toBe('x'.repeat(seq));
    expect((mirror.state as Json).draft.text).toBe('so far');
  }
  expect(calls).toBe(1);
});

test('a terminal keeps the end of what it printed', () => {
  const mirror = new Mirror('terminal', frozen({content: [], claim: {kind: 'none'}, title: ''}) as Json, 0);
  for (let seq = 1; seq <= 100; seq += 1) mirror.receive(envelope(seq, {type: 'terminal/data', data: `${seq}\n`.padStart(10_000, '.')}));
  const text = printed(mirror.state);
  expect(text.length).toBeLessThanOrEqual(MOST_KEPT);
  expect(text.endsWith('.100\n')).toBe(true);
});

// What both sides may say of a chat, so that pending actions and streamed ones meet in every way.
const told = fc.oneof(
  fc.string().map(delta),
  fc.string().map(draft),
  fc.constant({type: 'chat/draftChanged'}),
  fc.boolean().map(isRead => ({type: 'chat/isReadChanged', isRead})),
  fc.constantFrom('a', 'b').map(id => ({type: 'chat/pendingMessageSet', kind: 'queued', id, message: {text: id}})),
  fc.constantFrom('a', 'b').map(id => ({type: 'chat/pendingMessageRemoved', kind: 'queued', id})),
  fc.integer({min: 0, max: 9}).map(n => ({type: 'chat/usage', turnId: 't', usage: {inputTokens: n}})),
  fc.constantFrom('q', 'r').map(id => ({type: 'chat/inputRequested', request: {id, questions: []}})),
  fc.constantFrom('q', 'r').map(id => ({type: 'chat/inputAnswerChanged', requestId: id, questionId: '__proto__', answer: {state: 'draft'}})),
  fc.constantFrom('q', 'r').map(id => ({type: 'chat/inputCompleted', requestId: id, response: 'accept'})),
  fc.constantFrom('c', 'd').map(id => ({type: 'chat/toolCallStart', turnId: 't', toolCallId: id, toolName: id, displayName: id})),
  fc.constantFrom('c', 'd').map(id => ({type: 'chat/toolCallReady', turnId: 't', toolCallId: id, invocationMessage: 'run'})),
  fc.constantFrom('c', 'd').map(id => ({type: 'chat/toolCallConfirmed', turnId: 't', toolCallId: id, approved: true, confirmed: 'user-action'})),
  fc.constantFrom('t', 'u').map(id => ({type: 'chat/turnCancelled', turnId: id, duration: 5})),
  fc.constantFrom('t', 'u').map(id => ({type: 'chat/turnStarted', turnId: id, startedAt: NOW, message: {text: 'go'}})),
);
const step = fc.record({act: fc.constantFrom('dispatch', 'foreign', 'echo', 'reject', 'look'), action: told});

test('under any order of echoes, refusals and foreign actions it equals a replay', () => {
  fc.assert(fc.property(fc.array(step, {maxLength: 40}), steps => {
    const mirror = new Mirror('chat', CHAT, 0, {clientId: 'me'});
    const pending: [number, Json][] = [];
    let confirmed: Json = CHAT;
    let serverSeq = 0;
    for (const [clientSeq, {act, action}] of frozen(steps).entries()) {
      if (act === 'dispatch') {
        pending.push([clientSeq, action]);
        mirror.dispatch(clientSeq, action as Json);
      } else if (act === 'foreign') {
        confirmed = frozen(reduce('chat', confirmed, action as Json));
        mirror.receive(envelope(serverSeq += 1, action));
      } else if (act !== 'look' && pending.length) {
        const [seq, own] = pending.shift()!;
        const isEcho = act === 'echo';
        if (isEcho) confirmed = frozen(reduce('chat', confirmed, own));
        mirror.receive(envelope(serverSeq += 1, own, seq, isEcho ? {} : {rejectionReason: 'no'}));
      }
      const shown = pending.reduce((state, [, own]) => reduce('chat', state, own), confirmed);
      expect(mirror.state).toEqual(shown);
      expect(mirror.confirmed).toEqual(confirmed);
      expect(mirror.pending).toEqual(pending.map(([seq]) => seq));
    }
  }), {numRuns: 500});
});
