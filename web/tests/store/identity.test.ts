/** Tokens in addresses, and one client id per tab. */
import {expect, test} from 'vitest';
import {masked} from '../../src/link/tap.ts';
import {takeClientId} from '../../src/store/client_id.ts';
import {tokenIn} from '../../src/store/token_in.ts';

test.each([
  ['http://h/#tkn=abc', 'abc', '/'],
  ['http://h/s/1?panel=files#tkn=a-b_c', 'a-b_c', '/s/1?panel=files'],
  ['http://h/?tkn=abc&x=1', 'abc', '/?x=1'],
  ['http://h/?tkn=old#tkn=new', 'new', '/'],
  ['http://h/#other', undefined, '/#other'],
  ['http://h/#tkn=', undefined, '/'],
])('the token of %s', (address, token, clean) => {
  expect(tokenIn(new URL(address))).toEqual({token, clean});
});

class FakeTab extends Map<string, string> {
  getItem = (key: string): string | null => this.get(key) ?? null;
  setItem = (key: string, value: string): void => void this.set(key, value);
  removeItem = (key: string): void => void this.delete(key);
}

test('a reloaded tab keeps its id, a duplicated one gets its own', () => {
  const tab = new FakeTab();
  const page = new EventTarget();
  const id = takeClientId(tab, page);
  const duplicate = new FakeTab(tab);
  expect(takeClientId(duplicate, new EventTarget())).not.toBe(id);
  page.dispatchEvent(new Event('pagehide'));
  expect(takeClientId(tab, new EventTarget())).toBe(id);
});

test('a tab that comes back out of the browser cache has its id again', () => {
  const tab = new FakeTab();
  const page = new EventTarget();
  const id = takeClientId(tab, page);
  page.dispatchEvent(new Event('pagehide'));
  page.dispatchEvent(new Event('pageshow'));
  expect(takeClientId(new FakeTab(tab), new EventTarget())).not.toBe(id);
});

test('the inspector shows no secrets', () => {
  const text = masked('{"params":{"token":"s3cr\\"et","tkn":"x","url":"http://h/#tkn=abc.def","header":"Bearer ey.J0","said":"a token of thanks"}}');
  expect(text).toBe('{"params":{"token":"***","tkn":"***","url":"http://h/#tkn=***","header":"Bearer ***","said":"a token of thanks"}}');
});
