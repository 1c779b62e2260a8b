// @vitest-environment happy-dom
/** Addresses and places, and a history in which Back closes what lies over the page. */
import fc from 'fast-check';
import {beforeEach, describe, expect, test} from 'vitest';
import {PANELS, Places, type Route, href, parse} from '../../src/route.ts';

const at = (path: string): Route => parse(new URL(`http://h${path}`));
// Deep equality that does not tell an absent member from an undefined one.
const plain = (route: Route): unknown => JSON.parse(JSON.stringify(route));

const wellFormed = fc.string({unit: 'binary', minLength: 1}).filter(text => !/\p{Surrogate}/u.test(text));
const name = fc.oneof(wellFormed, fc.constantFrom('.', '..', '~', '/', 't', 'c', '?x', '#', '%2e', 'a/../b'), fc.uuid());
const maybe = <T>(of: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(of, {nil: undefined});
const sessionUri = fc.oneof(fc.uuid().map(id => `ahp-session:/${id}`), wellFormed.map(text => `copilot:/${text}`), wellFormed);

const routes: fc.Arbitrary<Route> = fc.oneof(
  fc.constantFrom<Route>({at: 'list'}, {at: 'new'}, {at: 'inspect'}),
  fc.record({at: fc.constant('settings' as const), section: maybe(name)}),
  fc.record({at: fc.constant('automations' as const), id: name, run: maybe(name)}),
  fc.record({
    at: fc.constant('session' as const), session: sessionUri, chat: maybe(name), turn: maybe(name), panel: maybe(fc.constantFrom(...PANELS)), file: maybe(wellFormed), line: maybe(fc.integer({min: 1, max: 1e6})),
  }),
);

test('every place has an address that means it', () => {
  fc.assert(fc.property(routes, route => {
    expect(plain(at(href(route)))).toEqual(plain(route));
  }), {numRuns: 500});
});

test('any address means a place', () => {
  fc.assert(fc.property(fc.webPath(), fc.webQueryParameters(), (path, query) => {
    expect(() => href(at(`${path || '/'}?${query}`))).not.toThrow();
  }));
});

test('addresses are short where names are', () => {
  expect(href({at: 'session', session: 'ahp-session:/ab-1', turn: 't9', panel: 'files'})).toBe('/s/ab-1/t/t9?panel=files');
  expect(at('/s/ab-1')).toMatchObject({session: 'ahp-session:/ab-1', chat: undefined});
});

/** A history whose steps back come later, as in browsers. */
class FakeWindow {
  entries: {state: unknown; url: string}[] = [{state: null, url: 'http://h/'}];
  index = 0;
  private waiting = 0;
  private pop: () => void = () => {};
  readonly location = Object.defineProperty({}, 'href', {get: () => this.entries[this.index]!.url}) as Location;
  readonly history = Object.defineProperties({}, {
    state: {get: () => this.entries[this.index]!.state},
    pushState: {value: (state: unknown, _: string, url: string) => {
      this.entries = [...this.entries.slice(0, this.index + 1), {state, url: new URL(url, 'http://h').href}];
      this.index += 1;
    }},
    replaceState: {value: (state: unknown, _: string, url: string) => void (this.entries[this.index] = {state, url: new URL(url, 'http://h').href})},
    back: {value: () => void (this.waiting += 1)},
  }) as History;

  addEventListener = ((_: string, pop: () => void) => {
    this.pop = pop;
  }) as Window['addEventListener'];

  /** Let the steps back happen that were asked for. */
  settle(): void {
    while (this.waiting > 0) {
      this.waiting -= 1;
      this.back();
    }
  }

  /** The user goes back. */
  back(): void {
    this.index = Math.max(0, this.index - 1);
    this.pop();
  }

  get path(): string {
    return new URL(this.location.href).pathname;
  }
}

describe('the history', () => {
  let window: FakeWindow;
  let places: Places;
  let closed: string[];
  const layer = (name: string): (() => void) => places.pushLayer(() => closed.push(name));

  beforeEach(() => {
    window = new FakeWindow();
    places = new Places(window);
    closed = [];
    places.go({at: 'new'});
  });

  test('goes back from place to place', () => {
    window.back();
    expect(places.route.value).toEqual({at: 'list'});
  });

  test('going to where one is leaves nothing to go back through', () => {
    places.go({at: 'new'});
    window.back();
    expect(places.route.value.at).toBe('list');
  });

  test('Back closes sheets first, the topmost before the others', () => {
    layer('one');
    layer('two');
    window.back();
    expect([closed, places.route.value.at]).toEqual([['two'], 'new']);
    window.back();
    expect([closed, places.route.value.at]).toEqual([['two', 'one'], 'new']);
    window.back();
    expect(places.route.value.at).toBe('list');
  });

  test('a sheet that was closed otherwise leaves nothing to go back through', () => {
    layer('one')();
    window.settle();
    expect([window.path, window.index]).toEqual(['/new', 1]);
    window.back();
    expect([closed, places.route.value.at]).toEqual([[], 'list']);
  });

  test('sheets that close from below, at once or one after the other, leave nothing to go back through', () => {
    for (const settle of [() => {}, () => window.settle()]) {
      const closing = [layer('one'), layer('two'), layer('three')];
      for (const close of closing) {
        close();
        settle();
      }
      window.settle();
      expect([window.history.state, window.path, window.index]).toEqual([null, '/new', 1]);
    }
    window.back();
    expect([closed, places.route.value.at]).toEqual([[], 'list']);
  });

  test('a sheet that closes below another leaves the other open', () => {
    const one = layer('one');
    const two = layer('two');
    one();
    window.settle();
    places.go({at: 'inspect'});
    two();
    window.settle();
    expect([closed, window.path, places.route.value.at]).toEqual([[], '/inspect', 'inspect']);
  });

  test('going elsewhere from a sheet, closed before or after, leads back to below it', () => {
    const close = layer('one');
    close();
    places.go({at: 'inspect'});
    window.settle();
    expect([window.path, places.route.value.at]).toEqual(['/inspect', 'inspect']);
    const other = layer('two');
    places.go({at: 'settings'});
    other();
    window.settle();
    expect([window.path, places.route.value.at]).toEqual(['/settings', 'settings']);
    window.back();
    expect(places.route.value.at).toBe('inspect');
    window.back();
    expect(places.route.value.at).toBe('new');
  });

  test('a page that was reloaded under a sheet has none', () => {
    layer('one');
    const again = new Places(window);
    expect(window.history.state).toBeNull();
    expect(again.route.value.at).toBe('new');
  });
});
