import {beforeEach, describe, expect, it} from 'vitest';
import type {Message, MessageAttachment, StateAction} from '../../src/ahp/index.ts';
import {DraftSync, NO_DRAFT, SAVE_AFTER, draftOf} from '../../src/composer/draft_sync.ts';

const said = (text: string): Message => ({text, origin: {kind: 'user'}});
const typed = (text: string): {text: string; attachments: MessageAttachment[]} => ({text, attachments: []});

let waiting: {ms: number; run: () => void}[];
let sent: StateAction[];
const after = (ms: number, run: () => void): (() => void) => {
  const entry = {ms, run};
  waiting.push(entry);
  return () => void (waiting = waiting.filter(other => other !== entry));
};
const elapse = (): void => {
  const due = waiting;
  waiting = [];
  for (const {run} of due) run();
};
let isTaken: boolean;
const tell = (action: StateAction, taken: () => void): void => {
  sent.push(action);
  if (isTaken) taken();
};
const opened = (box = NO_DRAFT, host?: Message): DraftSync => new DraftSync(box, host, after, tell);

beforeEach(() => {
  waiting = [];
  sent = [];
  isTaken = true;
});

describe('a draft', () => {
  it('is told to the host once typing pauses', () => {
    const draft = opened();
    draft.edit(typed('h'));
    draft.edit(typed('hi'));
    expect(waiting.map(entry => entry.ms)).toEqual([SAVE_AFTER]);
    elapse();
    expect(sent).toEqual([{type: 'chat/draftChanged', draft: said('hi')}]);
    expect(draft.receive(said('hi'), true)).toBe('keep');
  });

  it('that was sent is cleared, and the save that waited is not made', () => {
    const draft = opened();
    draft.edit(typed('hi'));
    elapse();
    draft.edit(typed('hi there'));
    draft.sent();
    elapse();
    expect(sent.slice(1)).toEqual([{type: 'chat/draftChanged'}]);
  });

  it('that the host never saw is not cleared there', () => {
    const draft = opened();
    draft.edit(typed('hi'));
    draft.sent();
    elapse();
    expect(sent).toEqual([]);
  });

  it('from elsewhere enters a box that nobody touched', () => {
    const draft = opened();
    expect(draft.receive(said('theirs'), true)).toBe('enter');
    expect(draft.receive(said('theirs, longer'), true)).toBe('enter');
  });

  it('from elsewhere is offered where something was typed', () => {
    const draft = opened();
    draft.edit(typed('mine'));
    elapse();
    expect(draft.receive(said('theirs'), true)).toBe('offer');
    draft.enter(draftOf(said('theirs')));
    elapse();
    expect(sent).toHaveLength(1);
    expect(draft.receive(said('theirs'), true)).toBe('keep');
  });

  it('that another window sent leaves a box which was in step, unless somebody types there', () => {
    const draft = opened();
    draft.edit(typed('mine'));
    elapse();
    draft.receive(said('mine'), false);
    expect(draft.receive(undefined, false)).toBe('enter');
    draft.edit(typed('mine'));
    elapse();
    draft.receive(said('mine'), true);
    expect(draft.receive(undefined, true)).toBe('offer');
  });

  it('that only this device kept is told to the host', () => {
    opened(typed('kept'), said('older'));
    elapse();
    expect(sent).toEqual([{type: 'chat/draftChanged', draft: said('kept')}]);
    sent = [];
    opened(typed('same'), said('same'));
    elapse();
    expect(sent).toEqual([]);
  });

  it('that the host did not take is no news when it shows the former one again, and is told again', () => {
    const draft = opened(NO_DRAFT, said('old'));
    draft.edit(typed('mine'));
    elapse();
    expect(draft.receive(said('mine'), false)).toBe('keep');
    draft.again(said('mine'));
    expect(sent).toHaveLength(1);
    isTaken = false;
    const other = opened(NO_DRAFT, said('old'));
    other.edit(typed('mine'));
    elapse();
    sent = [];
    // As it will be, and as it was again.
    expect(other.receive(said('mine'), false)).toBe('keep');
    expect(other.receive(said('old'), false)).toBe('keep');
    other.again(said('old'));
    expect(sent).toEqual([{type: 'chat/draftChanged', draft: said('mine')}]);
  });

  it('of another window that came meanwhile is not overwritten', () => {
    const draft = opened(NO_DRAFT, said('old'));
    draft.edit(typed('mine'));
    elapse();
    sent = [];
    expect(draft.receive(said('theirs'), true)).toBe('offer');
    draft.again(said('theirs'));
    expect(sent).toEqual([]);
  });

  it('keeps pictures on this device', () => {
    const draft = opened();
    const picture: MessageAttachment = {type: 'embeddedResource', label: 'p', contentType: 'image/png', data: 'AAAA'};
    const file: MessageAttachment = {type: 'resource', label: 'f', uri: 'file:///f'};
    draft.edit({text: 'see', attachments: [picture, file]});
    elapse();
    expect(sent).toEqual([{type: 'chat/draftChanged', draft: {...said('see'), attachments: [file]}}]);
  });
});
