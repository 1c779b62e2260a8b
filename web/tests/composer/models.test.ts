import {describe, expect, it} from 'vitest';
import type {ChatState, CompletionItem, MessageAttachment} from '../../src/ahp/index.ts';
import {attachmentOf, completedAt, describedBy, inserted} from '../../src/composer/completion.ts';
import {fitted} from '../../src/composer/images.ts';
import {mentioned, messageOf, sendingOf, sent, stillAttached, stopped} from '../../src/composer/message.ts';
import {moved, placed, steeredNow} from '../../src/composer/queue.ts';

const TRIGGERS = ['/', '@', '#'];
const file: MessageAttachment = {type: 'resource', label: 'a.ts', uri: 'file:///a.ts', _meta: {path: 'a.ts'}};
const item = (more: Partial<CompletionItem> = {}): CompletionItem => ({insertText: '@a.ts ', rangeStart: 4, rangeEnd: 6, attachment: file, ...more});

describe('a queue', () => {
  it('moves a message within its bounds', () => {
    expect(moved(['a', 'b', 'c'], 'b', -1)).toEqual(['b', 'a', 'c']);
    expect(moved(['a', 'b', 'c'], 'b', 1)).toEqual(['a', 'c', 'b']);
    const ids = ['a', 'b'];
    expect(moved(ids, 'a', -1)).toBe(ids);
    expect(moved(ids, 'nobody', 1)).toBe(ids);
    expect(placed(['a', 'b', 'c'], 'a', 2)).toEqual(['b', 'c', 'a']);
  });

  it('gives a message to the running turn before it lets go of it', () => {
    const message = {text: 'x', origin: {kind: 'user'}} as const;
    expect(steeredNow({id: 'q', message}, 's').map(action => action.type)).toEqual(['chat/pendingMessageSet', 'chat/pendingMessageRemoved']);
  });
});

describe('completions', () => {
  it.each([
    ['/he', 3, {start: 0, word: '/he'}],
    ['say /he', 7, undefined],
    ['see @a', 6, {start: 4, word: '@a'}],
    ['see @a b', 8, undefined],
    ['mail a@b', 8, undefined],
    ['see #a\nnext', 6, {start: 4, word: '#a'}],
    ['', 0, undefined],
    ['😀 @a', 5, {start: 3, word: '@a'}],
  ])('%# are asked for where a word begins with a trigger', (text, offset, found) => {
    expect(completedAt(text, offset, TRIGGERS)).toEqual(found);
  });

  it('replace their range, with one space behind', () => {
    expect(inserted('see @a now', 6, item())).toEqual({text: 'see @a.ts now', cursor: 10});
    expect(inserted('see ', 4, {insertText: '@a.ts ', attachment: file})).toEqual({text: 'see @a.ts ', cursor: 10});
  });

  it('of a hostile host stay within the text', () => {
    expect(inserted('ab', 2, item({rangeStart: -5, rangeEnd: 99}))).toEqual({text: '@a.ts ', cursor: 6});
  });

  it('attach what they stand for, commands nothing', () => {
    expect(attachmentOf(item())).toBe(file);
    const command = item({attachment: {type: 'simple', label: '/run', _meta: {command: 'run', description: 'Runs', argumentHint: 'CMD'}}});
    expect(attachmentOf(command)).toBeUndefined();
    expect(describedBy(command)).toEqual({label: '/run', hint: 'CMD', description: 'Runs'});
  });
});

describe('a message', () => {
  const chat = (running: boolean): ChatState => ({activeTurn: running ? {id: 't', startedAt: '2026-01-01T00:00:00.000Z'} : undefined}) as ChatState;

  it('is sent, queued or steers', () => {
    expect([sendingOf(chat(false), false), sendingOf(chat(false), true)]).toEqual(['send', 'send']);
    expect([sendingOf(chat(true), false), sendingOf(chat(true), true)]).toEqual(['queue', 'steer']);
    const message = messageOf({text: 'x', attachments: []}, {model: {id: 'm'}});
    expect(sent('send', message, 'i', 'now')).toEqual({type: 'chat/turnStarted', turnId: 'i', startedAt: 'now', message});
    expect(sent('steer', message, 'i', 'now')).toEqual({type: 'chat/pendingMessageSet', kind: 'steering', id: 'i', message});
    expect(message.model).toEqual({id: 'm'});
  });

  it('says where it mentions what is attached, and gives the host back its own notes', () => {
    const draft = {text: 'look\nat @a.ts now', attachments: [mentioned(file, '@a.ts')]};
    expect(messageOf(draft).attachments).toEqual([{...file, range: {start: {line: 1, character: 3}, end: {line: 1, character: 8}}}]);
  });

  it('loses what it no longer mentions, and keeps what was never mentioned', () => {
    const picture: MessageAttachment = {type: 'embeddedResource', label: 'p', contentType: 'image/png', data: ''};
    const attachments = [mentioned(file, '@a.ts'), picture];
    expect(stillAttached({text: 'look at', attachments})).toEqual([picture]);
    expect(stillAttached({text: 'look at @a.ts', attachments})).toBe(attachments);
  });

  it('is stopped with the time that it took', () => {
    expect(stopped(chat(true), Date.parse('2026-01-01T00:00:01.000Z'))).toEqual({type: 'chat/turnCancelled', turnId: 't', duration: 1000});
    expect(stopped(chat(true), 0)).toMatchObject({duration: 0});
    expect(stopped(chat(false), 0)).toBeUndefined();
  });
});

it('a picture fits, and keeps its proportion', () => {
  expect(fitted(4096, 1024)).toEqual({width: 2048, height: 512});
  expect(fitted(10, 20)).toEqual({width: 10, height: 20});
  expect(fitted(100_000, 1)).toEqual({width: 2048, height: 1});
});
