import {describe, expect, it} from 'vitest';
import type {ChatState} from '../../src/ahp/index.ts';
import {type Row, RowMaker, rows} from '../../src/chat/rows.ts';

const START = '2026-01-01T00:00:00Z';
type Any = Record<string, unknown>;

// The same object each time, as in a mirror.
const said = new Map<string, Any>();
const user = (text: string): Any => said.get(text) ?? said.set(text, {text, origin: {kind: 'user'}}).get(text) ?? {};
const text = (id: string, content: string): Any => ({kind: 'markdown', id, content});
const call = (id: string, more: Any = {}): Any => ({
  kind: 'toolCall',
  toolCall: {toolCallId: id, toolName: 't', displayName: 'T', invocationMessage: 'Do', status: 'completed', success: true, pastTenseMessage: 'Did', confirmed: 'not-needed', ...more},
});
const turn = (id: string, parts: Any[], state = 'complete'): Any => ({id, startedAt: START, message: user(id), responseParts: parts, state});
const active = (id: string, parts: Any[]): Any => ({id, startedAt: START, message: user(id), responseParts: parts});
const chat = (turns: Any[], more: Any = {}): ChatState => ({resource: 'ahp-chat:/1', title: '', status: 1, modifiedAt: '', turns, ...more}) as unknown as ChatState;

const shape = (all: readonly Row[]): string[] => all.map(row => `${row.kind} ${row.key}`);

const paragraphs = (count: number): string => Array.from({length: count}, (_, at) => `Paragraph number ${at} of the text.`).join('\n\n');

describe('rows', () => {
  it('a turn is its message, its parts and its end', () => {
    expect(shape(rows(chat([turn('t1', [text('p1', 'hello'), call('c1'), text('p2', 'bye')])])))).toEqual([
      'message t1/message', 'text t1/p1', 'part t1/c1', 'text t1/p2', 'end t1/end',
    ]);
  });

  it('says that there is more before it, and that the agent works', () => {
    const all = rows(chat([turn('t1', [])], {turnsNextCursor: 'x', activeTurn: active('t2', [text('p', 'so')]), activity: 'Reading'}));
    expect(shape(all)).toEqual(['older older', 'message t1/message', 'end t1/end', 'message t2/message', 'text t2/p', 'working t2/working']);
    expect(all.at(-1)).toMatchObject({activity: 'Reading'});
    expect(all.at(-2)).toMatchObject({running: true});
  });

  it('folds calls in a row that went well, and opens them', () => {
    const one = chat([turn('t', [call('a', {_meta: {toolKind: 'read'}}), call('b', {_meta: {toolKind: 'terminal'}}), call('c'), text('p', 'x')])]);
    const folded = rows(one);
    expect(shape(folded)).toEqual(['message t/message', 'calls t/fold/a', 'text t/p', 'end t/end']);
    expect(folded[1]).toMatchObject({counts: {read: 1, search: 0, terminal: 1, other: 1}, isOpen: false});
    expect(shape(rows(one, {open: new Set(['t/fold/a'])}))).toEqual(['message t/message', 'calls t/fold/a', 'part t/a', 'part t/b', 'part t/c', 'text t/p', 'end t/end']);
  });

  it('never folds one alone, failures, edits, workers or what waits', () => {
    const loud = [
      call('failed', {success: false}), call('edit', {content: [{type: 'fileEdit'}]}), call('worker', {content: [{type: 'subagent', resource: 'x', title: 'W'}]}),
      call('waits', {status: 'pending-confirmation'}), call('runs', {status: 'running'}), call('denied', {status: 'cancelled', reason: 'denied'}), call('alone'),
    ];
    expect(rows(chat([turn('t', loud)])).filter(row => row.kind === 'calls')).toEqual([]);
  });

  it('a text of the agent that grows changes its own row only', () => {
    const maker = new RowMaker();
    const old = turn('t1', [text('p', 'old')]);
    const before = maker.rows(chat([old], {activeTurn: active('t2', [call('c'), text('p', 'so')])}), {open: new Set()});
    const after = maker.rows(chat([old], {activeTurn: active('t2', [call('c'), text('p', 'so far')])}), {open: new Set()});
    expect(shape(after)).toEqual(shape(before));
    // The call is another object in this state, as it never is in a mirror.
    expect(after.map((row, at) => row === before[at])).toEqual([true, true, true, true, false, false, true]);
  });

  it('nothing changed gives the same list', () => {
    const maker = new RowMaker();
    const state = chat([turn('t1', [text('p', 'a')])], {activeTurn: active('t2', [text('p', 'b')])});
    expect(maker.rows(state, {open: new Set()})).toBe(maker.rows({...state, modifiedAt: 'later'}, {open: new Set()}));
  });

  it('a long text is several rows, and those that are over stay', () => {
    const maker = new RowMaker();
    const at = (count: number): readonly Row[] => maker.rows(chat([], {activeTurn: active('t', [text('p', paragraphs(count))])}), {open: new Set()});
    const before = at(100);
    const after = at(130);
    expect(before.filter(row => row.kind === 'text').length).toBeGreaterThan(3);
    expect(after[1]).toBe(before[1]);
    expect(after[2]).toBe(before[2]);
    expect(new Set(after.map(row => row.key)).size).toBe(after.length);
  });

  it('keeps rows when the turn ends', () => {
    const maker = new RowMaker();
    const parts = [text('p', 'All said.')];
    const before = maker.rows(chat([], {activeTurn: active('t', parts)}), {open: new Set()});
    const after = maker.rows(chat([turn('t', parts)]), {open: new Set()});
    expect(after[0]).toBe(before[0]);
    expect(after[1]).toMatchObject({key: 't/p', running: false});
    expect(after.at(-1)).toMatchObject({kind: 'end', isNewest: true});
  });

  it('has no two rows with one key, whatever the host calls its parts', () => {
    const all = rows(chat([turn('t', [text('p', 'a'), text('p', 'b'), {kind: 'surprise'}, {kind: 'contentRef', uri: 'x'}])]));
    expect(new Set(all.map(row => row.key)).size).toBe(all.length);
    expect(all.map(row => row.kind)).toEqual(['message', 'text', 'text', 'part', 'part', 'end']);
  });

  it('five thousand turns take no longer than a frame when one of them grows', () => {
    const maker = new RowMaker();
    const turns = Array.from({length: 5000}, (_, at) => turn(`t${at}`, [text('p', 'text')]));
    maker.rows(chat(turns, {activeTurn: active('x', [text('p', 'a')])}), {open: new Set()});
    const first = maker.rows(chat(turns, {activeTurn: active('x', [text('p', 'ab')])}), {open: new Set()});
    const second = maker.rows(chat(turns, {activeTurn: active('x', [text('p', 'abc')])}), {open: new Set()});
    expect(second.filter((row, at) => row !== first[at]).map(row => row.key)).toEqual(['x/p']);
  });
});
