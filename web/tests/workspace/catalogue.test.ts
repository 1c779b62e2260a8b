import {describe, expect, test} from 'vitest';
import type {ChangesetFile, ChangesetOperation} from '../../src/ahp/index.ts';
import {changeOf, changeSets, chosenSet, confirmationOf, contentKey, expanded, operationsFor, targetOf, totals} from '../../src/workspace/changes/catalogue.ts';

const side = (uri: string, nonce?: string): {uri: string; content: {uri: string; nonce?: string}} =>
  ({uri, content: {uri: `git-blob:${uri}`, ...(nonce ? {nonce} : {})}});
const file = (edit: ChangesetFile['edit'], more: Partial<ChangesetFile> = {}): ChangesetFile => ({id: 'a', edit, ...more});
const operation = (more: Partial<ChangesetOperation>): ChangesetOperation => ({id: 'x', label: 'X', scopes: ['resource'], status: 'idle', ...more});

const CATALOGUE = [
  {label: 'Uncommitted', uriTemplate: 's/changeset/uncommitted', changeKind: 'uncommitted'},
  {label: 'Session', uriTemplate: 's/changeset/session', changeKind: 'session', capabilities: {review: {}}},
  {label: 'Turn', uriTemplate: 's/changeset/turn/{turnId}', changeKind: 'turn'},
  {label: 'Strange', uriTemplate: 's/changeset/{else}', changeKind: 'else'},
];

describe('sets of changes', () => {
  test('are those whose template can be filled', () => {
    expect(changeSets(CATALOGUE).map(set => set.kind)).toEqual(['uncommitted', 'session']);
    expect(changeSets(CATALOGUE, {turnId: 't/1'}).map(set => set.uri)).toEqual(['s/changeset/turn/t%2F1']);
    expect(changeSets(undefined)).toEqual([]);
  });

  test('are chosen: the one wanted, else the session’s', () => {
    const sets = changeSets(CATALOGUE);
    expect(chosenSet(sets, sets[0]!.uri)?.kind).toBe('uncommitted');
    expect(chosenSet(sets, 'gone')?.kind).toBe('session');
    expect(chosenSet([], undefined)).toBeUndefined();
  });

  test('may be for review only where the host says so', () => {
    expect(changeSets(CATALOGUE).map(set => set.mayReview)).toEqual([false, true]);
  });

  test('encode every reserved character', () => {
    expect(expanded('x/{turnId}', {turnId: "a b/!'()*"})).toBe('x/a%20b%2F%21%27%28%29%2A');
    expect(expanded('x/{a}/{b}', {a: '1'})).toBeUndefined();
  });
});

describe('changed files', () => {
  test('were made, removed, moved or edited', () => {
    const [one, other] = [side('file:///a'), side('file:///b')];
    expect([{after: one}, {before: one}, {before: one, after: other}, {before: one, after: one}].map(edit => changeOf(file(edit))))
      .toEqual(['created', 'deleted', 'renamed', 'edited']);
  });

  test('are named on the side that is there', () => {
    expect(targetOf(file({before: side('file:///a')}))).toEqual({kind: 'resource', resource: 'file:///a', side: 'before'});
    expect(targetOf(file({before: side('file:///a'), after: side('file:///b')}))).toEqual({kind: 'resource', resource: 'file:///b', side: 'after'});
  });

  test('are read again when their content is another', () => {
    expect(contentKey(side('a', '1'))).not.toBe(contentKey(side('a', '2')));
    expect(contentKey(undefined)).toBe('');
  });

  test('are added up as far as anybody knows', () => {
    expect(totals([file({diff: {added: 2, removed: 1}}, {reviewed: true}), file({diff: {added: 3}}), file({})]))
      .toEqual({added: 5, removed: 1, reviewed: 1});
  });
});

describe('operations', () => {
  test('are offered where they apply', () => {
    const all = [operation({id: 'file'}), operation({id: 'all', scopes: ['changeset']}), operation({id: 'both', scopes: ['changeset', 'resource']})];
    expect(operationsFor(all, 'resource').map(one => one.id)).toEqual(['file', 'both']);
    expect(operationsFor(undefined, 'changeset')).toEqual([]);
  });

  test('ask with the file’s name, where the host wants that', () => {
    expect(confirmationOf(operation({confirmation: {markdown: 'Discard {0}?'}}), 'a.ts')).toBe('Discard a.ts?');
    expect(confirmationOf(operation({}), 'a.ts')).toBeUndefined();
  });
});
