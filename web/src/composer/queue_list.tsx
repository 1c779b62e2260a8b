/** What waits to be said: the message that steers this turn, and those queued for after it. */
import {type ReadonlySignal, type Signal, useComputed, useSignal} from '@preact/signals';
import {ChevronDown, ChevronUp, CornerDownRight, Ellipsis, GripVertical, ListPlus, X} from 'lucide';
import {useEffect, useRef} from 'preact/hooks';
import type {ChatState, PendingMessage, StateAction} from '../ahp/index.ts';
import {type Act, useStore} from '../store/index.ts';
import {announce} from '../ui/announce.tsx';
import {ActButton, Button} from '../ui/button.tsx';
import {Icon} from '../ui/icon.tsx';
import {newId} from '../ui/ids.ts';
import {useWhyNot} from '../ui/may_act.ts';
import {Outcome} from '../ui/outcome.tsx';
import {Menu} from '../ui/popover.tsx';
import type {ChatRef} from '../ui/registry.tsx';
import {visible} from '../ui/safe.tsx';
import {words} from '../words/index.ts';
import {useDragOrder} from './drag_order.ts';
import {moved, placed, removed, reordered, rewritten, steeredNow} from './queue.ts';

/** Characters of a message that its line shows. */
const FEW = 300;
/** Milliseconds after which a queue that does not move is held. */
const LASTING = 1500;

export interface QueueListProps {
  readonly at: ChatRef;
  readonly chat: ReadonlySignal<ChatState | undefined>;
}

const NOTHING: readonly PendingMessage[] = [];

export function QueueList({at, chat}: QueueListProps) {
  const store = useStore();
  const queued = useComputed(() => chat.value?.queuedMessages ?? NOTHING).value;
  const steering = useComputed(() => chat.value?.steeringMessage).value;
  const isWorking = useComputed(() => chat.value?.activeTurn !== undefined).value;
  const isHeld = useLasting(!isWorking && queued.length > 0);
  const last = useSignal<Act | undefined>(undefined);
  const asksFor = useSignal<PendingMessage | undefined>(undefined);
  const act = (...actions: readonly StateAction[]): void => {
    for (const action of actions) last.value = store.act(at.chat, action, 'queue');
  };
  const ids = queued.map(each => each.id);
  const put = (order: readonly string[], id: string): void => {
    if (order === ids) return;
    act(reordered(order));
    announce(words.composer.movedTo(order.indexOf(id) + 1, order.length));
  };
  const drag = useDragOrder((id, to) => put(placed(ids, id, to), id));
  const steer = (message: PendingMessage): void => {
    if (steering && asksFor.peek() !== message) asksFor.value = message;
    else {
      asksFor.value = undefined;
      act(...steeredNow(message, newId()));
    }
  };
  if (!queued.length && !steering) return <Outcome act={last.value} />;
  return (
    <div class="composer-queue">
      {steering && (
        <Row message={steering} icon={CornerDownRight} hint={words.composer.steerHint}>
          <ActButton kind="quiet" icon={X} label={words.composer.remove} onClick={() => act(removed('steering', steering.id))} />
        </Row>
      )}
      {queued.length > 0 && (
        <ol class="composer-queued" aria-label={words.composer.queued} ref={drag.list}>
          {queued.map(message => (
            <QueuedRow
              key={message.id}
              message={message}
              place={ids.indexOf(message.id)}
              count={ids.length}
              grip={drag.grip}
              canSteer={isWorking}
              move={by => put(moved(ids, message.id, by), message.id)}
              rewrite={text => act(rewritten('queued', message, text))}
              remove={() => act(removed('queued', message.id))}
              steer={() => steer(message)}
            />
          ))}
        </ol>
      )}
      {isHeld && queued[0] && (
        <div class="composer-ask" role="status">
          <span>{words.composer.held}</span>
          <ActButton onClick={() => act(rewritten('queued', queued[0]!, queued[0]!.message.text))}>{words.composer.sendQueue}</ActButton>
        </div>
      )}
      {asksFor.value && <AskReplace asksFor={asksFor} steer={steer} />}
      <Outcome act={last.value} />
    </div>
  );
}

/** Whether something is so for a while already: between two turns a queue is not held. */
function useLasting(isSo: boolean): boolean {
  const lasts = useSignal(false);
  useEffect(() => {
    const timer = setTimeout(() => void (lasts.value = isSo), isSo ? LASTING : 0);
    return () => clearTimeout(timer);
  }, [isSo]);
  return isSo && lasts.value;
}

function AskReplace({asksFor, steer}: {asksFor: Signal<PendingMessage | undefined>; steer(message: PendingMessage): void}) {
  return (
    <div class="composer-ask" role="alertdialog" aria-label={words.composer.replaceAsk}>
      <span>{words.composer.replaceAsk}</span>
      <Button onClick={() => void (asksFor.value = undefined)}>{words.composer.keep}</Button>
      <ActButton kind="primary" onClick={() => asksFor.value && steer(asksFor.value)}>{words.composer.replace}</ActButton>
    </div>
  );
}

function Row({message, icon, hint, children}: {message: PendingMessage; icon: typeof X; hint: string; children?: preact.ComponentChildren}) {
  const {text, attachments} = message.message;
  return (
    <div class="composer-waits">
      <span class="composer-waits-icon" title={hint}><Icon of={icon} label={hint} /></span>
      <span class="composer-waits-text">{visible(text.slice(0, FEW))}</span>
      {attachments && attachments.length > 0 && <span class="composer-note">{words.composer.withAttachments(attachments.length)}</span>}
      {children}
    </div>
  );
}

interface QueuedRowProps {
  readonly message: PendingMessage;
  readonly place: number;
  readonly count: number;
  grip(event: PointerEvent): void;
  readonly canSteer: boolean;
  move(by: number): void;
  rewrite(text: string): void;
  remove(): void;
  steer(): void;
}

function QueuedRow(props: QueuedRowProps) {
  const {message, place, count, grip, canSteer, move, remove, steer} = props;
  const isEditing = useSignal(false);
  const hasMenu = useSignal(false);
  const menu = useRef<HTMLButtonElement>(null);
  const row = useRef<HTMLLIElement>(null);
  const whyNot = useWhyNot();
  const key = (event: KeyboardEvent): void => {
    const by = event.key === 'ArrowUp' ? -1 : event.key === 'ArrowDown' ? 1 : 0;
    if (!by || !event.altKey || isEditing.peek() || whyNot !== undefined) return;
    event.preventDefault();
    move(by);
    // The row was moved in the document, which takes the focus away.
    requestAnimationFrame(() => row.current?.focus());
  };
  if (isEditing.value) return <EditRow {...props} done={() => void (isEditing.value = false)} />;
  const item = (id: string, text: string, run: () => void, isOff = false) => ({id, words: text, run, whyNot: isOff ? '' : whyNot});
  return (
    <li ref={row} data-id={message.id} tabIndex={0} onKeyDown={key} aria-keyshortcuts="Alt+ArrowUp Alt+ArrowDown">
      <Row message={message} icon={ListPlus} hint={words.composer.queueHint}>
        {canSteer && <ActButton kind="quiet" class="composer-wide" onClick={steer}>{words.composer.steerNow}</ActButton>}
        {place > 0 && <ActButton kind="quiet" class="composer-wide" icon={ChevronUp} label={words.composer.moveUp} onClick={() => move(-1)} />}
        {place < count - 1 && <ActButton kind="quiet" class="composer-wide" icon={ChevronDown} label={words.composer.moveDown} onClick={() => move(1)} />}
        <Button
          kind="quiet"
          icon={Ellipsis}
          label={words.composer.more}
          popup="menu"
          expanded={hasMenu.value}
          buttonRef={menu}
          onClick={() => void (hasMenu.value = !hasMenu.value)}
        />
        <ActButton kind="quiet" icon={X} label={words.composer.remove} onClick={remove} />
        <span class="composer-grip" title={words.composer.drag} onPointerDown={grip}><Icon of={GripVertical} /></span>
      </Row>
      {hasMenu.value && (
        <Menu
          anchor={menu}
          label={words.composer.more}
          placement="top-end"
          onClose={() => void (hasMenu.value = false)}
          items={[
            item('edit', words.composer.edit, () => void (isEditing.value = true)),
            ...(canSteer ? [item('steer', words.composer.steerNow, steer)] : []),
            ...(place > 0 ? [item('up', words.composer.moveUp, () => move(-1))] : []),
            ...(place < count - 1 ? [item('down', words.composer.moveDown, () => move(1))] : []),
            item('remove', words.composer.remove, remove),
          ]}
        />
      )}
    </li>
  );
}

function EditRow({message, rewrite, done}: QueuedRowProps & {done(): void}) {
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus(), []);
  const save = (): void => {
    const text = field.current?.value.trim();
    if (text && text !== message.message.text) rewrite(text);
    done();
  };
  const key = (event: KeyboardEvent): void => {
    if (event.key === 'Escape') done();
    else if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      save();
    }
  };
  return (
    <li data-id={message.id} class="composer-edit-row">
      <textarea ref={field} class="composer-field" rows={1} aria-label={words.composer.editing} defaultValue={message.message.text} onKeyDown={key} />
      <Button kind="quiet" onClick={done}>{words.composer.cancel}</Button>
      <ActButton kind="primary" onClick={save}>{words.composer.save}</ActButton>
    </li>
  );
}
