import {describe, expect, it} from 'vitest';
import type {SessionState, ToolCallPendingConfirmationState} from '../../src/ahp/index.ts';
import {choicesOf, editsOf, hintsOf, inputOf, isEditable, riskOf, textOf, titleOf} from '../../src/cards/approval.ts';

const PLAIN = {allow: 'Allow', deny: 'Deny'};
const call = (more: object = {}): ToolCallPendingConfirmationState =>
  ({
    status: 'pending-confirmation',
    toolCallId: 'c1',
    toolName: 'shell',
    displayName: 'Shell',
    invocationMessage: 'Run npm test',
    ...more,
  }) as ToolCallPendingConfirmationState;

const option = (id: string, kind: string): object => ({id, label: `the ${id}`, kind});

describe('the choices of a card', () => {
  it("are the host's, each side in the host's order", () => {
    const options = [option('b', 'approve'), option('no', 'deny'), option('a', 'approve'), option('deny-with-reason', 'deny')];
    const {deny, approve} = choicesOf(call({options}), PLAIN);
    expect(approve.map(choice => choice.id)).toEqual(['b', 'a']);
    expect(deny.map(choice => choice.id)).toEqual(['no', 'deny-with-reason']);
    expect(deny.map(choice => choice.wantsReason)).toEqual([false, true]);
  });

  it.each([undefined, []])('are plain ones where the host offers none', options => {
    const {deny, approve} = choicesOf(call(options ? {options} : {}), PLAIN);
    expect([deny[0]?.label, approve[0]?.label]).toEqual(['Deny', 'Allow']);
    expect([deny[0]?.id, approve[0]?.id]).toEqual([undefined, undefined]);
  });

  it('never approve by an option of a kind that is not known', () => {
    const {deny, approve} = choicesOf(call({options: [option('x', 'perhaps'), option('no', 'deny')]}), PLAIN);
    expect(approve).toEqual([]);
    expect(deny).toHaveLength(1);
  });
});

describe('the risk', () => {
  it.each([
    [1, 'safe'],
    [0.8, 'safe'],
    [0.79, 'look'],
    [0.4, 'look'],
    [0.39, 'risky'],
    [0, 'risky'],
    [NaN, 'look'],
  ])('of safety %f is %s', (safety, level) => {
    expect(riskOf({kind: 'judge', status: 'complete', reason: 'why', safety})).toEqual({level, reason: 'why'});
  });

  it('is being judged, or nothing is said', () => {
    expect(riskOf({kind: 'judge', status: 'loading'})?.level).toBe('judging');
    expect(riskOf(undefined)).toBeUndefined();
  });
});

describe('what a card shows', () => {
  it('has the title, else what the call does', () => {
    expect(titleOf(call({confirmationTitle: {markdown: '**Run** it?'}}))).toEqual({markdown: '**Run** it?'});
    expect(titleOf(call())).toBe('Run npm test');
    expect(titleOf(call({invocationMessage: ''}))).toBe('Shell');
    expect(textOf(undefined)).toBe('');
  });

  it('has the input as it is, or where it is kept', () => {
    expect(inputOf(call({toolInput: 'rm -rf /'}))).toEqual({kind: 'text', text: 'rm -rf /'});
    expect(inputOf(call({toolInput: {uri: 'ahp-content:x'}}))).toEqual({kind: 'kept', ref: {uri: 'ahp-content:x'}});
    expect(inputOf(call())).toBeUndefined();
  });

  it('lets inline input be edited where the host says so', () => {
    expect(isEditable(call({editable: true, toolInput: 'a'}))).toBe(true);
    expect(isEditable(call({editable: true, toolInput: {uri: 'x:y'}}))).toBe(false);
    expect(isEditable(call({toolInput: 'a'}))).toBe(false);
    expect(editsOf(call())).toEqual([]);
  });

  it("has the hints of the session's own tool, not of another one's namesake", () => {
    const tool = (annotations: object): object => ({name: 'shell', annotations});
    const session = {
      serverTools: [tool({destructiveHint: true, openWorldHint: true})],
      activeClients: [{clientId: 'me', tools: [tool({readOnlyHint: true, destructiveHint: true})]}],
    } as unknown as SessionState;
    expect(hintsOf(call(), session)).toEqual(['destructive', 'openWorld']);
    expect(hintsOf(call({contributor: {kind: 'client', clientId: 'me'}}), session)).toEqual(['readOnly']);
    expect(hintsOf(call({contributor: {kind: 'client', clientId: 'you'}}), session)).toEqual([]);
    expect(hintsOf(call({contributor: {kind: 'mcp', customizationId: 'm'}}), session)).toEqual([]);
    expect(hintsOf(call(), undefined)).toEqual([]);
  });
});
