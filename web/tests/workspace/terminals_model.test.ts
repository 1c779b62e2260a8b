import {describe, expect, test} from 'vitest';
import type {TerminalInfo} from '../../src/ahp/index.ts';
import {keySequence, pieces, withCtrl} from '../../src/workspace/terminals/keys.ts';
import {detached, holder, listed} from '../../src/workspace/terminals/listed.ts';
import {Sizing} from '../../src/workspace/terminals/sizing.ts';

const [SMALL, LARGE, OTHER] = [{cols: 40, rows: 20}, {cols: 120, rows: 40}, {cols: 80, rows: 24}];
const info = (resource: string, more: Partial<TerminalInfo> = {}): TerminalInfo =>
  ({resource, title: resource, claim: {kind: 'session', session: 's', chat: 'c'}, lifecycle: {status: 'running'}, ...more});

describe('the size of a terminal', () => {
  test('is left alone by a window that only looks', () => {
    const sizing = new Sizing();
    sizing.hears(LARGE);
    expect(sizing.fitted(SMALL)).toBeUndefined();
    expect(sizing.shown).toEqual(LARGE);
    expect(sizing.isForeign).toBe(true);
  });

  test('is taken by the window that types, and follows it', () => {
    const sizing = new Sizing();
    sizing.hears(LARGE);
    sizing.fitted(SMALL);
    expect(sizing.take()).toEqual(SMALL);
    expect(sizing.isForeign).toBe(false);
    expect(sizing.take()).toBeUndefined();
    sizing.hears(SMALL);
    expect(sizing.fitted(OTHER)).toEqual(OTHER);
  });

  test('stays with a window that hears late of a size it asked for before', () => {
    const sizing = new Sizing();
    sizing.hears(LARGE);
    sizing.fitted(SMALL);
    expect(sizing.take()).toEqual(SMALL);
    expect(sizing.fitted(OTHER)).toEqual(OTHER);
    sizing.hears(SMALL);
    expect(sizing.shown).toEqual(OTHER);
    sizing.hears(OTHER);
    sizing.hears(OTHER);
    expect(sizing.isForeign).toBe(false);
    expect(sizing.fitted(SMALL)).toEqual(SMALL);
  });

  test('is given up when another window sets it', () => {
    const sizing = new Sizing(true);
    sizing.hears(SMALL);
    sizing.fitted(SMALL);
    sizing.hears(LARGE);
    expect(sizing.isForeign).toBe(true);
    expect(sizing.fitted(OTHER)).toBeUndefined();
    expect(sizing.take()).toEqual(OTHER);
  });
});

describe('keys', () => {
  test('of the row send what a keyboard would', () => {
    const usual = {application: false, ctrl: false};
    expect((['esc', 'tab', 'up', 'interrupt'] as const).map(key => keySequence(key, usual))).toEqual(['\u001B', '\t', '\u001B[A', '\u0003']);
    expect(keySequence('left', {application: true, ctrl: false})).toBe('\u001BOD');
    expect(keySequence('left', {application: true, ctrl: true})).toBe('\u001B[1;5D');
  });

  test('with Ctrl are control characters', () => {
    expect(['c', 'D', '[', ' ', '?', '1', 'ab'].map(withCtrl)).toEqual(['\u0003', '\u0004', '\u001B', '\0', '\u007F', '1', 'ab']);
  });

  test('come in pieces that a host takes', () => {
    const text = `${'x'.repeat(15_999)}😀${'y'.repeat(20_000)}`;
    const all = pieces(text);
    expect(all.join('')).toBe(text);
    expect(all.every(piece => piece.length <= 16_000 && encodeURIComponent(piece))).toBe(true);
  });
});

describe('the list', () => {
  test('has the session’s terminals apart, those that have ended last', () => {
    const all = [info('ended', {lifecycle: {status: 'exited', exitCode: 0}}), info('mine', {claim: {kind: 'client', clientId: 'x'}}), info('run')];
    const {ours, others} = listed(all, 's');
    expect([ours.map(one => one.title), others.map(one => one.title)]).toEqual([['run', 'ended'], ['mine']]);
    expect(listed(undefined, 's')).toEqual({ours: [], others: []});
  });

  test('knows who holds one, and lets a running command go on in the background', () => {
    const call = {kind: 'session', session: 's', chat: 'c', turnId: 't', toolCallId: 'k'} as const;
    expect(holder(call)).toBe('call');
    expect(detached(call)).toEqual({type: 'terminal/claimed', claim: {kind: 'session', session: 's', chat: 'c'}});
    expect(detached({kind: 'client', clientId: 'x'})).toBeUndefined();
  });
});
