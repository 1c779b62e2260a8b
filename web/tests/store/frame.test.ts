/** Drawing once per frame, and resting after slow draws. */
import {effect, signal} from '@preact/signals';
import {beforeEach, expect, test} from 'vitest';
import {Frames, LONGEST_WAIT, WITHOUT_FRAME} from '../../src/store/frame.ts';
import {FakeTimer} from './fake_time.ts';

let timer: FakeTimer;
let waitingFrames: (() => void)[];
let painted: (() => void)[];
let frames: Frames;

const nextFrame = (): void => {
  const run = waitingFrames;
  waitingFrames = [];
  for (const draw of run) draw();
};
const paint = (): void => {
  for (const run of painted.splice(0)) run();
};

beforeEach(() => {
  timer = new FakeTimer();
  waitingFrames = [];
  painted = [];
  frames = new Frames({
    now: timer.now,
    after: timer.after,
    frame: run => {
      waitingFrames.push(run);
      return () => {
        waitingFrames = waitingFrames.filter(other => other !== run);
      };
    },
    painted: run => painted.push(run),
  });
});

test('a job that is scheduled often runs once in the next frame, and all jobs in one batch', () => {
  const one = signal(0);
  const other = signal(0);
  let draws = 0;
  effect(() => {
    draws += 1;
    void (one.value + other.value);
  });
  const job = (): void => {
    one.value += 1;
  };
  for (let delta = 0; delta < 100; delta += 1) frames.schedule(job);
  frames.schedule(() => {
    other.value = 7;
  });
  expect(one.value).toBe(0);
  nextFrame();
  expect([one.value, other.value, draws]).toEqual([1, 7, 2]);
  timer.pass(WITHOUT_FRAME);
  expect(one.value).toBe(1);
});

test('a hidden document, which has no frames, is still brought up to date', () => {
  let runs = 0;
  frames.schedule(() => {
    runs += 1;
  });
  timer.pass(WITHOUT_FRAME - 1);
  expect(runs).toBe(0);
  timer.pass(1);
  expect(runs).toBe(1);
  nextFrame();
  expect(runs).toBe(1);
});

test.each([
  ['quick', 8, 0],
  ['slow', 20, 80],
  ['very slow', 500, LONGEST_WAIT],
])('after a %s draw of %i ms the next one waits %i ms', (_, took, wait) => {
  frames.schedule(() => timer.pass(took));
  nextFrame();
  paint();
  let runs = 0;
  frames.schedule(() => {
    runs += 1;
  });
  timer.pass(Math.max(0, wait - 1));
  nextFrame();
  expect(runs).toBe(wait ? 0 : 1);
  timer.pass(1);
  nextFrame();
  expect(runs).toBe(1);
});

test('a job that throws does not stop what comes later', () => {
  frames.schedule(() => {
    throw new Error('no');
  });
  expect(nextFrame).toThrow('no');
  let runs = 0;
  frames.schedule(() => {
    runs += 1;
  });
  nextFrame();
  expect(runs).toBe(1);
});
