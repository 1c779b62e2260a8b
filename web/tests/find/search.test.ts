// @vitest-environment happy-dom
import {describe, expect, it} from 'vitest';
import type {ChatState} from '../../src/ahp/index.ts';
import {RowMaker} from '../../src/chat/rows.ts';
import {sectionOf} from '../../src/find/find_bar.tsx';
import {findIn} from '../../src/find/search.ts';

const call = (id: string, more: object): object => ({
  kind: 'toolCall',
  toolCall: {toolCallId: id, toolName: 't', displayName: 'T', invocationMessage: 'Do', status: 'completed', success: true, pastTenseMessage: 'Did it', confirmed: 'not-needed', ...more},
});
const chatWith = (parts: object[], message = 'question'): ChatState =>
  ({resource: 'c', title: '', status: 1, modifiedAt: '', turns: [{id: 't', message: {text: message, origin: {kind: 'user'}}, responseParts: parts, state: 'complete'}]}) as unknown as ChatState;

describe('findIn', () => {
  it('finds in messages and answers, whatever the case', () => {
    const chat = chatWith([{kind: 'markdown', id: 'p', content: 'Needle and needle.'}], 'Where is the NEEDLE?');
    expect(findIn(chat, 'needle').map(hit => [hit.row, hit.nth])).toEqual([['t/message', 0], ['t/p', 0], ['t/p', 1]]);
  });

  it('finds in folded output, and knows what to open', () => {
    const chat = chatWith([call('a', {content: [{type: 'text', text: 'x \u001b[31mnee\u001b[0mdle'}]}), call('b', {toolInput: 'grep needle'})]);
    expect(findIn(chat, 'needle')).toEqual([
      {row: 't/a', nth: 0, fold: 't/fold/a', inside: ['t/a/details', 't/a/text']},
      {row: 't/b', nth: 0, fold: 't/fold/a', inside: ['t/b/details']},
    ]);
  });

  it('finds in thoughts', () => {
    expect(findIn(chatWith([{kind: 'reasoning', id: 'r', content: 'a needle'}]), 'needle')[0]?.inside).toEqual(['t/0/thought']);
  });

  it('finds nothing for nothing, and survives parts that it does not know', () => {
    expect(findIn(chatWith([{kind: 'surprise'}]), '')).toEqual([]);
    expect(findIn(chatWith([{kind: 'surprise'}]), 'surprise')).toEqual([]);
  });

  it('leads to the right row of a long text', () => {
    const content = Array.from({length: 900}, (_, at) => (at % 300 === 150 ? `Paragraph ${at} with the needle.` : `Paragraph ${at} of the text.`)).join('\n\n');
    const chat = chatWith([{kind: 'markdown', id: 'p', content}]);
    const rows = new RowMaker().rows(chat, {open: new Set()});
    const keys = findIn(chat, 'needle').map(hit => sectionOf(rows, hit, 'needle'));
    expect(new Set(keys).size).toBe(3);
    const last = rows.find(row => row.key === keys[2]);
    expect(last?.kind === 'text' && last.stream?.section(last.section).some(block => block.raw.includes('Paragraph 750'))).toBe(true);
  });
});
