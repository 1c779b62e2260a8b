/** Why a socket did not open, and how it is opened. */
import {afterEach, expect, test, vi} from 'vitest';
import {askAdmission} from '../../src/link/admission.ts';
import {browserSockets} from '../../src/link/socket.ts';

const ORIGIN = 'http://box.example:8765';
const answering = (status: number, text = '', headers: Record<string, string> = {}): typeof fetch => () => Promise.resolve(new Response(text, {status, headers}));

test.each([
  [200, {}, 'admitted'],
  [401, {}, 'signedOut'],
  [403, {}, {refused: 'because'}],
  [429, {'Retry-After': '7'}, {waitMs: 7_000}],
  [429, {}, {waitMs: 30_000}],
  [503, {}, 'unreachable'],
])('a host that answers %i', async (status, headers, admission) => {
  expect(await askAdmission('secret', ORIGIN, answering(status, 'because', headers as Record<string, string>))).toEqual(admission);
});

test('a host that does not answer cannot be reached', async () => {
  expect(await askAdmission('secret', ORIGIN, () => Promise.reject(new TypeError('no network')))).toBe('unreachable');
});

test('the token goes as a header, and only if there is one; where the page is from, always', async () => {
  const asked: RequestInit[] = [];
  const get = ((_: string, init: RequestInit) => {
    asked.push(init);
    return Promise.resolve(new Response(''));
  }) as typeof fetch;
  await askAdmission('secret', ORIGIN, get);
  await askAdmission(undefined, ORIGIN, get);
  expect(asked.map(({headers}) => headers)).toEqual([{'Agenthost-Origin': ORIGIN, Authorization: 'Bearer secret'}, {'Agenthost-Origin': ORIGIN}]);
});

class FakeWebSocket extends EventTarget {
  static made: FakeWebSocket[] = [];
  readonly url: string;
  readonly protocols: string[];
  closed: unknown[] = [];

  constructor(url: string, protocols: string[]) {
    super();
    this.url = url;
    this.protocols = protocols;
    FakeWebSocket.made.push(this);
  }

  close(...given: unknown[]): void {
    this.closed = given;
  }
}

afterEach(() => {
  vi.unstubAllGlobals();
  FakeWebSocket.made = [];
});

test('a socket names the token where no log sees it, and ends once', () => {
  vi.stubGlobal('WebSocket', FakeWebSocket);
  const ends: number[] = [];
  const open = browserSockets(() => 'pä', {protocol: 'https:', host: 'host.example'} as Location);
  const socket = open({opened: () => {}, message: () => {}, closed: code => ends.push(code)});
  const [made] = FakeWebSocket.made;
  expect([made?.url, made?.protocols]).toEqual(['wss://host.example/', ['ahp', 'tkn.cMOk']]);
  socket.close();
  made?.dispatchEvent(Object.assign(new Event('close'), {code: 1006, reason: ''}));
  expect(ends).toEqual([1000]);
});
