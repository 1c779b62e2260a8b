import {afterEach, beforeEach, expect, test, vi} from 'vitest';
import type {DiffAsk} from '../../src/workers/diff.worker.ts';
import {DiffClient, type DiffPort, type OpenPort} from '../../src/workers/diff_client.ts';
import {diffRows} from '../../src/workers/diff_rows.ts';

class FakePort implements DiffPort {
  readonly told: Parameters<OpenPort>[0];
  readonly failed: Parameters<OpenPort>[1];
  readonly asked: DiffAsk[] = [];
  isEnded = false;
  constructor(told: FakePort['told'], failed: FakePort['failed']) {
    this.told = told;
    this.failed = failed;
  }
  ask(ask: DiffAsk): void {
    this.asked.push(ask);
  }
  end(): void {
    this.isEnded = true;
  }
  answer(): void {
    const {id, before, after} = this.asked.shift()!;
    this.told({id, ...diffRows(before, after)});
  }
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function client(): {client: DiffClient; ports: FakePort[]} {
  const ports: FakePort[] = [];
  return {ports, client: new DiffClient((told, failed) => {
    const port = new FakePort(told, failed);
    ports.push(port);
    return port;
  })};
}

test('asks one worker, which is ended when nobody needs it any more', async () => {
  const {client: asking, ports} = client();
  const both = Promise.all([asking.rows('a\n', 'b\n'), asking.rows('c\n', 'c\n')]);
  ports[0]!.answer();
  ports[0]!.answer();
  expect((await both).map(told => told.rows[0]?.kind)).toEqual(['mod', 'same']);
  vi.advanceTimersByTime(29_000);
  expect(ports[0]!.isEnded).toBe(false);
  vi.advanceTimersByTime(2_000);
  expect(ports[0]!.isEnded).toBe(true);
  void asking.rows('d\n', 'e\n');
  expect(ports).toHaveLength(2);
});

test('answers also when the worker breaks or is stuck', async () => {
  const {client: asking, ports} = client();
  const broken = asking.rows('a\n', 'b\n');
  ports[0]!.failed();
  expect((await broken).rows.length).toBeGreaterThan(0);
  const stuck = asking.rows('a\n', 'b\n');
  vi.advanceTimersByTime(5_000);
  expect((await stuck).rows.length).toBeGreaterThan(0);
  expect(ports.every(port => port.isEnded)).toBe(true);
});

test('answers where there are no workers', async () => {
  const asking = new DiffClient(() => {
    throw new Error('none here');
  });
  expect((await asking.rows('same\n', 'same\n')).rows).toHaveLength(1);
});
