/** The buttons that send, and what each means while a turn runs. */
import {type ReadonlySignal, useComputed} from '@preact/signals';
import {CornerDownRight, ListPlus, Send as SendIcon, Square} from 'lucide';
import type {ChatState} from '../ahp/index.ts';
import {ActButton} from '../ui/button.tsx';
import {shownKeys} from '../ui/commands.ts';
import {words} from '../words/index.ts';
import type {Sending} from './message.ts';
import type {OpenDraft} from './use_draft.ts';

/** Whether Enter makes a new line: a touch keyboard has no other key for it. */
export const hasTouchKeyboard = (): boolean => globalThis.matchMedia?.('(pointer: coarse)').matches ?? false;

/** What becomes of a message while a turn runs. */
export function WhatHappens({chat, draft}: {chat: ReadonlySignal<ChatState | undefined>; draft: OpenDraft}) {
  const isWorking = useComputed(() => chat.value?.activeTurn !== undefined);
  if (!isWorking.value || draft.isEmpty.value) return null;
  return (
    <p class="composer-note composer-keys">
      {!hasTouchKeyboard() && <kbd>{shownKeys('Enter')}</kbd>}
      <span><b>{words.composer.queue}</b> {words.composer.queueHint}</span>
      {!hasTouchKeyboard() && <kbd>{shownKeys('Mod+Enter')}</kbd>}
      <span><b>{words.composer.steer}</b> {words.composer.steerHint}</span>
    </p>
  );
}

export interface SendButtonsProps {
  readonly chat: ReadonlySignal<ChatState | undefined>;
  readonly isGone: boolean;
  readonly draft: OpenDraft;
  send(how: Sending): void;
  stop(): void;
}

export function SendButtons({chat, isGone, draft, send, stop}: SendButtonsProps) {
  const isWorking = useComputed(() => chat.value?.activeTurn !== undefined);
  const isOpening = useComputed(() => chat.value === undefined);
  const gone = isGone ? words.composer.gone : undefined;
  const nothing = gone ?? (isOpening.value ? words.composer.opening : draft.isEmpty.value ? words.composer.nothingToSend : undefined);
  if (!isWorking.value) {
    return <ActButton kind="primary" icon={SendIcon} whyNot={nothing} onClick={() => send('send')}>{words.composer.send}</ActButton>;
  }
  return (
    <>
      {/* First, because it comes and goes: Stop must not come to where it was under a second press. */}
      {!draft.isEmpty.value && (
        <ActButton icon={CornerDownRight} whyNot={gone} onClick={() => send('steer')}>{words.composer.steer}</ActButton>
      )}
      <ActButton icon={Square} whyNot={gone} onClick={stop}>{words.composer.stop}</ActButton>
      <ActButton kind="primary" icon={ListPlus} whyNot={nothing} onClick={() => send('queue')}>{words.composer.queue}</ActButton>
    </>
  );
}
