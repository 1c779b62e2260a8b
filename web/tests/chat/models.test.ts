import {describe, expect, it} from 'vitest';
import type {AgentInfo, ChatState, SessionState} from '../../src/ahp/index.ts';
import {imageSize} from '../../src/chat/parts/image_size.ts';
import {chatTabs, droppedAfter, placeAfter} from '../../src/chat/tabs_model.ts';
import {modelName, shortCount, usedModel} from '../../src/chat/usage.ts';
import {usageOf} from '../../src/composer/choices.ts';

const tabsOf = (chats: object[], shown = 'a', opened: string[] = []) => chatTabs({chats, defaultChat: 'a'} as unknown as SessionState, shown, new Set(opened));
const own = (resource: string, more: object = {}): object => ({resource, title: resource, status: 33, modifiedAt: '', movable: resource !== 'a', ...more});
const worker = (resource: string): object => own(resource, {origin: {kind: 'tool', chat: 'a', toolCallId: 'x'}, movable: false});

describe('tabs', () => {
  it("are people's chats, and of the workers those that were opened", () => {
    const chats = [own('a'), worker('w1'), own('b'), worker('w2'), own('hidden', {interactivity: 'hidden'}), own('archived', {status: 97})];
    expect(tabsOf(chats).map(tab => tab.uri)).toEqual(['a', 'b']);
    expect(tabsOf(chats, 'w1').map(tab => tab.uri)).toEqual(['a', 'w1', 'b']);
    expect(tabsOf(chats, 'a', ['w2']).map(tab => [tab.uri, tab.isWorker])).toEqual([['a', false], ['b', false], ['w2', true]]);
  });

  it('say what waits, works or is unread', () => {
    const chats = [own('a', {status: 1}), own('b', {status: 24}), own('c', {status: 8 | 32}), own('d', {status: 1})];
    expect(tabsOf(chats).map(tab => tab.mark)).toEqual([undefined, 'waiting', 'working', 'unread']);
  });

  it('move by steps and by dropping', () => {
    const tabs = tabsOf([own('a'), own('b'), own('c')]);
    expect(placeAfter(tabs, 'b', -1)).toBeNull();
    expect(placeAfter(tabs, 'b', 1)).toBe('c');
    expect(placeAfter(tabs, 'c', -1)).toBe('a');
    expect(placeAfter(tabs, 'c', 1)).toBeUndefined();
    expect(droppedAfter(tabs, 'a', 'c')).toBe('c');
    expect(droppedAfter(tabs, 'c', 'a')).toBeNull();
    expect(droppedAfter(tabs, 'c', 'b')).toBe('a');
    expect(droppedAfter(tabs, 'b', 'b')).toBeUndefined();
  });
});

const AGENT = {provider: 'p', displayName: 'P', description: '', models: [{id: 'm1', provider: 'p', name: 'One'}, {id: 'm2', provider: 'p', name: 'Two', maxContextWindow: 1000}]} as AgentInfo;
const chatUsing = (usage: object | undefined): ChatState => ({turns: [{id: 't', message: {text: '', origin: {kind: 'user'}}, responseParts: [], state: 'complete', usage}]}) as unknown as ChatState;

describe('usage', () => {
  it('tells how full the context is, by the agent or by the model', () => {
    const models = [{id: 'm', context: 1000}] as unknown as Parameters<typeof usageOf>[1];
    expect(usageOf(chatUsing({inputTokens: 900, _meta: {contextTokens: 50, contextWindow: 200}}), models)).toEqual({used: 50, most: 200});
    expect(usageOf(chatUsing({inputTokens: 100, outputTokens: 20}), models)).toEqual({used: 120, most: 1000});
    expect(usageOf(chatUsing({inputTokens: 100, _meta: {contextTokens: 'many', contextWindow: -1}}), models)).toEqual({used: 100, most: 1000});
    expect(usageOf(chatUsing(undefined), models)).toBeUndefined();
  });

  it('knows the model that was used last', () => {
    expect(modelName(usedModel(chatUsing({model: 'm2'})), AGENT)).toBe('Two');
    expect(modelName(usedModel(undefined), AGENT)).toBe('One');
    expect([940, 1200, 12_400, 1_250_000].map(shortCount)).toEqual(['940', '1.2k', '12k', '1.3M']);
  });
});

describe('imageSize', () => {
  const bytes = (hex: string): Uint8Array => Uint8Array.from(hex.match(/../g) ?? [], pair => Number.parseInt(pair, 16));

  it('reads the headers of pictures', () => {
    expect(imageSize(bytes('89504e470d0a1a0a0000000d494844520000012c000000c8'))).toEqual({width: 300, height: 200});
    expect(imageSize(bytes('4749463839612c01c800'))).toEqual({width: 300, height: 200});
    expect(imageSize(bytes('ffd8ffe00004aaaaffc0000b0800c8012c03'))).toEqual({width: 300, height: 200});
    expect(imageSize(bytes('5249464600000000574542505650385800000000000000002b0100c70000'))).toEqual({width: 300, height: 200});
  });

  it('survives anything else', () => {
    for (const hex of ['', '89504e47', 'ffd8', 'ffd8ffc0', '00112233445566778899aabbccddeeff', '89504e470d0a1a0a0000000d494844520000000000000000']) expect(imageSize(bytes(hex))).toBeUndefined();
  });
});
