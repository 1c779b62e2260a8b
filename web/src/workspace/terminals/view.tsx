/** One terminal: its screen, who has it, and what can be done with it. */
import {type ReadonlySignal, type Signal, useComputed, useSignal, useSignalEffect} from '@preact/signals';
import {Eraser, Trash2, X} from 'lucide';
import {useEffect, useMemo, useRef, useState} from 'preact/hooks';
import type {TerminalState} from '../../ahp/index.ts';
import {type Act, useFollowed, useStore} from '../../store/index.ts';
import {ActButton, Button} from '../../ui/button.tsx';
import {useWhyNot} from '../../ui/may_act.ts';
import {Outcome} from '../../ui/outcome.tsx';
import {openSafely, openable, visible} from '../../ui/safe.tsx';
import {Sheet} from '../../ui/sheet.tsx';
import {Skeleton} from '../../ui/skeleton.tsx';
import {words} from '../../words/index.ts';
import {failureText} from '../failure.ts';
import {KeyRow} from './key_row.tsx';
import {type KeyName, keySequence, withCtrl} from './keys.ts';
import {detached, hasEnded, holder} from './listed.ts';
import {Screen} from './screen.ts';
import {Typing} from './typing.ts';
import './terminals.css';

export interface TerminalViewProps {
  readonly uri: string;
  /** Whether this window has just made it, and so sets its size. */
  readonly isOurs: boolean;
  /** Whether somebody waits to type into it; that is told once. */
  readonly isWanted?: ((uri: string) => boolean) | undefined;
  /** Somebody has removed it from here. */
  readonly onRemoved: () => void;
}

type StateSignal = ReadonlySignal<TerminalState | undefined>;

export function TerminalView({uri, isOurs, isWanted, onRemoved}: TerminalViewProps) {
  const store = useStore();
  const {state, gone} = useFollowed(() => store.channel('terminal', uri), [store, uri]);
  const isThere = useComputed(() => state.value !== undefined);
  if (isThere.value) return <Opened uri={uri} isOurs={isOurs} isWanted={isWanted} onRemoved={onRemoved} state={state} isGone={gone.value !== undefined} />;
  return gone.value === undefined ? <Skeleton lines={4} /> : <Gone onClose={onRemoved} />;
}

/** Says that a terminal is no more; what it showed last stays below. */
function Gone({onClose}: {onClose: () => void}) {
  return (
    <p class="terminals-note">
      {words.workspace.terminals.gone} <Button onClick={onClose}>{words.shell.close}</Button>
    </p>
  );
}

function Opened({uri, isOurs, isWanted, onRemoved, state, isGone}: TerminalViewProps & {state: StateSignal; isGone: boolean}) {
  const store = useStore();
  const whyNot = useWhyNot();
  const box = useRef<HTMLDivElement>(null);
  const link = useSignal<string | undefined>(undefined);
  const ctrl = useSignal(false);
  const typing = useMemo(() => new Typing(store, uri, isOurs), [store, uri]);
  const screen = useScreen(box, state, typing, ctrl, link);
  const isAlive = useComputed(() => state.value !== undefined && !hasEnded(state.value.lifecycle) && state.value.isPty !== false);
  const mayType = isAlive.value && whyNot === undefined && !isGone;
  useEffect(() => {
    if (screen) screen.takesInput = mayType;
    if (mayType) typing.again();
  }, [screen, mayType]);
  useEffect(() => {
    if (screen && isWanted?.(uri) && isFocusFree(box.current)) screen.focus();
  }, [screen]);
  const press = (key: KeyName): void => {
    typing.type(keySequence(key, {application: screen?.usesApplicationKeys ?? false, ctrl: ctrl.peek()}));
    ctrl.value = false;
    screen?.toEnd();
  };
  return (
    <div class="terminals-view">
      {isGone ? <Gone onClose={onRemoved} /> : <Head uri={uri} state={state} typing={typing} onRemoved={onRemoved} />}
      {mayType && <SizeNote typing={typing} />}
      <div class="terminals-box">
        <div class="terminals-screen" ref={box} />
        <LinkBar link={link} />
      </div>
      <LastOutcome last={typing.last} />
      {mayType && <KeyRow ctrl={ctrl} onKey={press} />}
    </div>
  );
}

/** Whether nobody is elsewhere: the focus is in the panel or was lost with what had it. A touch keyboard is not opened unasked. */
function isFocusFree(box: Element | null): boolean {
  const focused = document.activeElement;
  const isHere = !focused || focused === document.body || box?.closest('.terminals')?.contains(focused) === true;
  return isHere && !globalThis.matchMedia?.('(pointer: coarse)').matches;
}

/** A screen in a box, which follows the state without drawing anything else anew. */
function useScreen(box: {readonly current: HTMLDivElement | null}, state: StateSignal, typing: Typing, ctrl: Signal<boolean>, link: Signal<string | undefined>): Screen | undefined {
  const [screen, setScreen] = useState<Screen>();
  useEffect(() => {
    if (!box.current) return undefined;
    const made = new Screen(box.current, words.workspace.terminals.input, {
      typed(data) {
        typing.type(ctrl.peek() ? withCtrl(data) : data);
        ctrl.value = false;
        link.value = undefined;
      },
      fits(size) {
        typing.fits(size);
        if (typing.shown) made.resize(typing.shown);
      },
      leave: () => box.current?.closest('.terminals')?.querySelector<HTMLElement>('button')?.focus(),
      link: address => void (link.value = address),
    });
    setScreen(made);
    return () => {
      setScreen(undefined);
      made.dispose();
    };
  }, [typing]);
  const shown = useSignal<Screen | undefined>(undefined);
  shown.value = screen;
  useSignalEffect(() => {
    const [on, now] = [shown.value, state.value];
    if (!on || !now) return;
    typing.hears(sizeOf(now));
    if (typing.shown) on.resize(typing.shown);
    on.isPlain = now.isPty === false;
    on.show(now);
  });
  return screen;
}

const sizeOf = (state: TerminalState | undefined): {cols: number; rows: number} | undefined =>
  state?.cols && state.rows ? {cols: state.cols, rows: state.rows} : undefined;

function Head({uri, state, typing, onRemoved}: {uri: string; state: StateSignal; typing: Typing; onRemoved: () => void}) {
  const said = words.workspace.terminals;
  const store = useStore();
  const claim = useComputed(() => state.value?.claim);
  const life = useComputed(() => state.value?.lifecycle);
  const [isAsking, setAsking] = useState(false);
  const [failure, setFailure] = useState<string>();
  const detach = claim.value && detached(claim.value);
  const isAlive = life.value !== undefined && !hasEnded(life.value);
  const dispose = (): void => {
    setAsking(false);
    store.ask('disposeTerminal', {channel: uri}).then(onRemoved, (error: unknown) => setFailure(failureText(error, {changes: true})));
  };
  return (
    <div class="terminals-head">
      <span class="terminals-status">{statusText(life.value, claim.value && holder(claim.value))}</span>
      {detach && isAlive && <ActButton onClick={() => typing.act(detach)}>{said.detach}</ActButton>}
      <ActButton kind="quiet" icon={Eraser} label={said.clear} onClick={() => typing.act({type: 'terminal/cleared'})} />
      <ActButton kind="quiet" icon={Trash2} label={isAlive ? said.end : said.remove} onClick={() => (isAlive ? setAsking(true) : dispose())} />
      {failure !== undefined && <p class="ui-outcome" role="alert">{failure}</p>}
      {isAsking && (
        <Sheet title={said.end} onClose={() => setAsking(false)} actions={<>
          <Button onClick={() => setAsking(false)}>{words.shell.cancel}</Button>
          <ActButton kind="danger" onClick={dispose}>{said.end}</ActButton>
        </>}>
          <p>{said.endQuestion}</p>
        </Sheet>
      )}
    </div>
  );
}

function statusText(life: TerminalState['lifecycle'] | undefined, held: 'call' | 'session' | 'client' | undefined): string {
  const said = words.workspace.terminals;
  if (life?.status === 'exited') return said.ended(life.exitCode);
  return held ? said.holders[held] : '';
}

function SizeNote({typing}: {typing: Typing}) {
  if (!typing.isForeign.value) return null;
  return (
    <p class="terminals-size">
      {words.workspace.terminals.foreignSize} <ActButton kind="quiet" onClick={() => typing.takeSize()}>{words.workspace.terminals.useMySize}</ActButton>
    </p>
  );
}

/** The address of a link that was pressed, whole, before it is opened: what a program prints there may say something else. */
function LinkBar({link}: {link: Signal<string | undefined>}) {
  const address = link.value;
  if (address === undefined) return null;
  const url = openable(address);
  const close = (): void => void (link.value = undefined);
  const open = (): void => {
    openSafely(address);
    close();
  };
  return (
    <div class="terminals-link" role="status">
      <span>{url ? visible(url.href) : `${words.shell.notALink}: ${visible(address)}`}</span>
      {url && <Button kind="primary" onClick={open}>{words.workspace.terminals.openLink}</Button>}
      <Button kind="quiet" icon={X} label={words.shell.close} onClick={close} />
    </div>
  );
}

const LastOutcome = ({last}: {last: ReadonlySignal<Act | undefined>}) => <Outcome act={last.value} />;
