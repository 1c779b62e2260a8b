/** The box in which a message is written, and the controls that send it. */
import {type ReadonlySignal, useSignal} from '@preact/signals';
import {useEffect, useRef} from 'preact/hooks';
import type {ChatState, SessionState} from '../ahp/index.ts';
import {type Act, type Followed, useStore} from '../store/index.ts';
import {ActButton, Button} from '../ui/button.tsx';
import {combination, command} from '../ui/commands.ts';
import {GUARD} from '../ui/guarded.tsx';
import {newId} from '../ui/ids.ts';
import {useWhyNot} from '../ui/may_act.ts';
import {Outcome} from '../ui/outcome.tsx';
import type {ChatRef} from '../ui/registry.tsx';
import {toast} from '../ui/toast.tsx';
import {words} from '../words/index.ts';
import {AttachButton, attachFiles, useDroppedFiles} from './attach_files.tsx';
import {Attached} from './attached.tsx';
import {Background, Chips, Usage, wantedOf} from './chips.tsx';
import {wantedNow} from './choices.ts';
import {type Completing, CompletionList, listId, optionId, useCompletions} from './completions.tsx';
import {isEmpty} from './draft_sync.ts';
import {openIntake} from './intake.ts';
import {type Sending, messageOf, sendingOf, sent, stopped} from './message.ts';
import {Offered, Returned, type Sent} from './returned.tsx';
import {SendButtons, WhatHappens, hasTouchKeyboard} from './send_buttons.tsx';
import {type OpenDraft, useDraft} from './use_draft.ts';

export interface BoxProps {
  readonly at: ChatRef;
  readonly followed: Followed<ChatState>;
  readonly session: ReadonlySignal<SessionState | undefined>;
  /** Whether the chat or its session exists no more: what was written can still be taken from here. */
  readonly isGone: ReadonlySignal<boolean>;
}

export function Box({at, followed, session, isGone}: BoxProps) {
  const store = useStore();
  const chat = followed.state;
  const draft = useDraft(at.chat, followed);
  const completing = useCompletions(at.chat, draft);
  const box = useRef<HTMLDivElement>(null);
  const last = useSignal<Sent | undefined>(undefined);
  const asksReplace = useSignal(false);
  const whyNot = useWhyNot();
  const canSend = (): boolean => whyNot === undefined && !isGone.peek() && chat.peek() !== undefined && !draft.isEmpty.peek();
  const send = (how: Sending): void => {
    if (!canSend()) return;
    if (how === 'steer' && chat.peek()?.steeringMessage && !asksReplace.peek()) {
      asksReplace.value = true;
      return;
    }
    asksReplace.value = false;
    const said = draft.draft;
    const act = store.act(at.chat, sent(how, messageOf(said, wantedNow(wantedOf(at.chat).peek(), chat.peek(), session.peek())), newId(), new Date().toISOString()), 'composer');
    last.value = {act, draft: said};
    draft.sent();
    completing.close();
  };
  const handedAt = useRef(-GUARD);
  useIntake(at.chat, draft, () => void (handedAt.current = performance.now()));
  useDroppedFiles(draft);
  const stopping = useSignal<Act | undefined>(undefined);
  const stop = (): void => {
    const state = chat.peek();
    const action = state && stopped(state, Date.now());
    if (action) stopping.value = store.act(at.chat, action, 'stop');
  };
  useCommands(chat, draft, stop);
  const key = (event: KeyboardEvent): void => {
    if (completing.key(event)) return;
    if (event.key !== 'Enter' || event.isComposing || event.defaultPrevented) return;
    const withMod = combination(event) === 'Mod+Enter';
    if (!withMod && (event.shiftKey || event.altKey || hasTouchKeyboard())) return;
    event.preventDefault();
    // A key held down, or pressed twice, was meant for what had the focus before, such as an approval.
    if (event.repeat || performance.now() - handedAt.current < GUARD) return;
    const state = chat.peek();
    if (state) send(sendingOf(state, withMod));
  };
  return (
    <div class="composer-box" ref={box}>
      <Returned last={last} draft={draft} />
      <Offered draft={draft} />
      {asksReplace.value && (
        <div class="composer-ask" role="alertdialog" aria-label={words.composer.replaceAsk}>
          <span>{words.composer.replaceAsk}</span>
          <Button onClick={() => void (asksReplace.value = false)}>{words.composer.keep}</Button>
          <ActButton kind="primary" onClick={() => send('steer')}>{words.composer.replace}</ActButton>
        </div>
      )}
      <Attached draft={draft} />
      <Field draft={draft} completing={completing} onKeyDown={key} />
      <CompletionList completing={completing} anchor={box} />
      <ShellHint draft={draft} />
      <WhatHappens chat={chat} draft={draft} />
      <div class="composer-row">
        <AttachButton draft={draft} />
        <div class="composer-chips">
          <Chips at={at} chat={chat} session={session} />
          <Background at={at} chat={chat} />
        </div>
        <div class="composer-send">
          <Usage chat={chat} session={session} />
          <SendButtons chat={chat} isGone={isGone.value} draft={draft} send={send} stop={stop} />
        </div>
      </div>
      <Outcome act={stopping.value} />
    </div>
  );
}

/** The field itself. Its text is its own: nothing is drawn when a key is pressed. */
function Field({draft, completing, onKeyDown}: {draft: OpenDraft; completing: Completing; onKeyDown(event: KeyboardEvent): void}) {
  const isOpen = completing.items.value.length > 0;
  return (
    <textarea
      ref={field => void (draft.field = field)}
      class="composer-field"
      rows={1}
      aria-label={words.composer.message}
      aria-autocomplete="list"
      aria-controls={isOpen ? listId : undefined}
      aria-activedescendant={isOpen ? optionId(completing.chosen.value) : undefined}
      placeholder={words.composer.placeholder}
      onInput={() => {
        draft.typed();
        completing.look();
      }}
      onKeyDown={onKeyDown}
      onKeyUp={event => void (/^(Arrow(Left|Right)|Home|End)$/.test(event.key) && completing.look())}
      onClick={() => completing.look()}
      onBlur={() => completing.close()}
      onPaste={event => {
        if (attachFiles(draft, [...(event.clipboardData?.files ?? [])])) event.preventDefault();
      }}
    />
  );
}

/** What the host does with text that begins with its prefix. */
function ShellHint({draft}: {draft: OpenDraft}) {
  const prefix = useStore().host.value?.terminalCommandPrefix;
  return prefix && draft.startsWith.value === prefix ? <p class="composer-note">{words.composer.shell}</p> : null;
}

/** Let the rest of the page put things into this box. */
function useIntake(chat: string, draft: OpenDraft, handed: () => void): void {
  useEffect(
    () =>
      openIntake(chat, {
        fill: filled => {
          const before = draft.draft;
          draft.fill(filled);
          if (!isEmpty(before)) toast(words.composer.replaced, {undo: () => draft.fill(before)});
        },
        focus: () => {
          handed();
          draft.field?.focus();
        },
      }),
    [chat, draft],
  );
}

/** What the palette and the keys do here. */
function useCommands(chat: ReadonlySignal<ChatState | undefined>, draft: OpenDraft, stop: () => void): void {
  const store = useStore();
  const latest = useRef(stop);
  latest.current = stop;
  useEffect(() => {
    const group = words.composer.group;
    const dropped = [
      command({id: 'composer.focus', words: words.composer.focusComposer, group, run: () => draft.field?.focus()}),
      command({
        id: 'composer.stop',
        words: words.composer.stopTurn,
        group,
        keys: ['Mod+.'],
        when: () => chat.peek()?.activeTurn !== undefined && store.live.peek() === 'live',
        run: () => latest.current(),
      }),
    ];
    return () => {
      for (const drop of dropped) drop();
    };
  }, [chat, draft]);
}
