/** The inspector of the messages between this page and its host. */
import './inspect.css';
import {type ReadonlySignal, useComputed, useSignal} from '@preact/signals';
import {useEffect} from 'preact/hooks';
import {ArrowDownLeft, ArrowUpRight} from 'lucide';
import type {Frame} from '../link/tap.ts';
import {tap} from '../store/open.ts';
import {Button} from '../ui/button.tsx';
import {copyText} from '../ui/copy.ts';
import {Icon} from '../ui/icon.tsx';
import {visible} from '../ui/visible.ts';
import {VirtualList} from '../ui/virtual_list.tsx';
import {words} from '../words/index.ts';
import {laidOut, line, matching, questions} from './model.ts';

/** Milliseconds between looks: a stream has thousands of frames a second. */
const LOOK_EVERY = 250;

export function InspectPage() {
  const frames = useSignal<readonly Frame[]>(tap.frames());
  const filter = useSignal('');
  const isPaused = useSignal(false);
  const missed = useSignal(0);
  const open = useSignal<ReadonlySet<number>>(new Set());
  useEffect(() => follow(frames, isPaused, missed), []);
  const shown = useComputed(() => matching(frames.value, filter.value));
  const asked = useComputed(() => questions(frames.value));
  const pause = (): void => {
    isPaused.value = !isPaused.value;
    if (!isPaused.value) frames.value = tap.frames();
    missed.value = 0;
  };
  const clear = (): void => {
    tap.clear();
    frames.value = [];
    missed.value = 0;
  };
  const toggle = (id: number): void => {
    const next = new Set(open.value);
    if (!next.delete(id)) next.add(id);
    open.value = next;
  };
  return (
    <div class="inspect">
      <header class="inspect-head">
        <h1>{words.inspect.title}</h1>
        <p class="inspect-about">{words.inspect.about}</p>
        <div class="inspect-bar">
          <input type="search" aria-label={words.inspect.filter} placeholder={words.inspect.filter} value={filter.value} onInput={event => { filter.value = event.currentTarget.value; }} />
          <Button pressed={isPaused.value} onClick={pause}>{isPaused.value ? words.inspect.resume : words.inspect.pause}</Button>
          <Button onClick={clear}>{words.inspect.clear}</Button>
          <span class="inspect-count" role="status">{isPaused.value ? words.inspect.paused(missed.value) : words.inspect.count(shown.value.length, frames.value.length)}</span>
        </div>
      </header>
      {shown.value.length ? (
        <VirtualList
          class="inspect-list"
          label={words.inspect.messages}
          role="list"
          anchor="end"
          estimate={28}
          rows={shown.value}
          keyOf={frame => String(frame.id)}
          renderRow={frame => <Row frame={frame} asked={asked} open={open} toggle={() => toggle(frame.id)} />}
        />
      ) : (
        <p class="inspect-about">{frames.value.length ? words.inspect.none : words.inspect.empty}</p>
      )}
    </div>
  );
}

function follow(frames: {value: readonly Frame[]}, isPaused: {peek(): boolean}, missed: {value: number}): () => void {
  // What came between the first look and this one.
  frames.value = tap.frames();
  let came = 0;
  const stopWatch = tap.watch(() => {
    came += 1;
  });
  const timer = setInterval(() => {
    if (!came) return;
    if (isPaused.peek()) missed.value += came;
    else frames.value = tap.frames();
    came = 0;
  }, LOOK_EVERY);
  return () => {
    stopWatch();
    clearInterval(timer);
  };
}

const time = new Intl.DateTimeFormat(undefined, {hour: '2-digit', minute: '2-digit', second: '2-digit', fractionalSecondDigits: 3, hourCycle: 'h23'});

function Row({frame, asked, open, toggle}: {frame: Frame; asked: ReadonlySignal<ReadonlyMap<string, string>>; open: ReadonlySignal<ReadonlySet<number>>; toggle(): void}) {
  // The questions are there before their answers, so nothing changes here later.
  const {what, about, isError} = line(frame, asked.peek());
  const isOpen = open.value.has(frame.id);
  return (
    <div class={`inspect-row${isError ? ' error' : ''}`}>
      <button type="button" class="inspect-line" aria-expanded={isOpen} onClick={toggle}>
        <Icon of={frame.way === 'in' ? ArrowDownLeft : ArrowUpRight} label={frame.way === 'in' ? words.inspect.received : words.inspect.sent} />
        <span class="inspect-time">{time.format(frame.at)}</span>
        <span class="inspect-what">{visible(what)}</span>
        <span class="inspect-on">{visible(about)}</span>
        <span class="inspect-size">{frame.length.toLocaleString()}</span>
      </button>
      {isOpen && <Whole frame={frame} />}
    </div>
  );
}

function Whole({frame}: {frame: Frame}) {
  const isCopied = useSignal(false);
  const copy = async (): Promise<void> => {
    isCopied.value = Boolean(await copyText(frame.text));
  };
  return (
    <div class="inspect-whole">
      <pre tabIndex={0}>{visible(laidOut(frame))}</pre>
      {frame.length > frame.text.length && <p class="inspect-about">{words.inspect.cut(frame.length)}</p>}
      <Button kind="quiet" onClick={() => void copy()}>{isCopied.value ? words.inspect.copied : words.inspect.copy}</Button>
    </div>
  );
}
