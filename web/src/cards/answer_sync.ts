/** Answers in the making of one request: our own, and what other windows are about to answer. */
import {computed, signal, type ReadonlySignal} from '@preact/signals';
import type {ChatInputAnswer, ChatInputQuestion, ChatInputRequest} from '../ahp/index.ts';
import {without} from '../ahp/edits.ts';
import type {After, Tell} from '../composer/draft_sync.ts';
import {type Answers, begun, canShare} from './answers.ts';

/** How long one goes on typing before the others are told. */
export const SHARE_AFTER = 300;

/** The shared answers of a request: a field that is being edited here is never overwritten from elsewhere. */
export class AnswerSync {
  private readonly own = signal<Answers>({});
  private readonly foreign = signal<ReadonlySet<string>>(new Set());
  // What the host had for each question when we last looked, and what we told it.
  private readonly seen = new Map<string, string>();
  private readonly told = new Map<string, string>();
  // What the host had before it was told: it has that again if it did not take what it was told.
  private readonly beforeTold = new Map<string, string>();
  private readonly waiting = new Map<string, () => void>();
  private focused: string | undefined;
  private request: ChatInputRequest;
  private readonly after: After;
  private readonly send: Tell;

  constructor(request: ChatInputRequest, after: After, send: Tell) {
    this.request = request;
    this.after = after;
    this.send = send;
    const first = (request.questions ?? []).map(question => [question.id, begun(question, this.sharedOf(question))] as const);
    this.own.value = Object.fromEntries(first.filter((entry): entry is [string, ChatInputAnswer] => entry[1] !== undefined));
    for (const question of request.questions ?? []) this.seen.set(question.id, key(this.sharedOf(question)));
  }

  /** The answers as the fields show them. */
  get answers(): ReadonlySignal<Answers> {
    return this.own;
  }

  /** The questions whose answer another window edits as well. */
  get alsoEdited(): ReadonlySignal<ReadonlySet<string>> {
    return this.foreign;
  }

  answer(question: string): ReadonlySignal<ChatInputAnswer | undefined> {
    return computed(() => (Object.hasOwn(this.own.value, question) ? this.own.value[question] : undefined));
  }

  /** Take what was entered here, and tell the others when nothing more comes for a while. */
  set(question: ChatInputQuestion, answer: ChatInputAnswer | undefined): void {
    this.put(question.id, answer);
    this.waiting.get(question.id)?.();
    this.waiting.set(question.id, this.after(SHARE_AFTER, () => this.share(question)));
  }

  focus(question: string | undefined): void {
    this.focused = question;
  }

  /** See the request as the host has it now. */
  receive(request: ChatInputRequest): void {
    this.request = request;
    for (const question of request.questions ?? []) {
      const shared = this.sharedOf(question);
      const now = key(shared);
      if (this.seen.get(question.id) === now) continue;
      this.seen.set(question.id, now);
      this.take(question, shared, now);
    }
  }

  /** Tell at once what waits to be told. */
  flush(): void {
    for (const question of this.request.questions ?? []) {
      const cancel = this.waiting.get(question.id);
      cancel?.();
      if (cancel) this.share(question);
    }
  }

  /** Let nothing more be sent: the request is about to be settled. */
  close(): void {
    for (const cancel of this.waiting.values()) cancel();
    this.waiting.clear();
  }

  private take(question: ChatInputQuestion, shared: ChatInputAnswer | undefined, now: string): void {
    const mine = Object.hasOwn(this.own.value, question.id) ? this.own.value[question.id] : undefined;
    if (now === this.told.get(question.id) || now === this.beforeTold.get(question.id) || now === key(mine)) return;
    if (this.focused === question.id || this.waiting.has(question.id)) {
      this.foreign.value = new Set([...this.foreign.value, question.id]);
      return;
    }
    this.put(question.id, shared);
  }

  private share(question: ChatInputQuestion): void {
    this.waiting.delete(question.id);
    const answer = Object.hasOwn(this.own.value, question.id) ? this.own.value[question.id] : undefined;
    if (!canShare(question, answer)) return;
    if (!this.beforeTold.has(question.id)) this.beforeTold.set(question.id, this.seen.get(question.id) ?? '');
    this.told.set(question.id, key(answer));
    this.clearMark(question.id);
    const action = {type: 'chat/inputAnswerChanged', requestId: this.request.id, questionId: question.id, ...(answer === undefined ? {} : {answer})} as const;
    this.send(action, () => {
      if (this.told.get(question.id) === key(answer)) this.beforeTold.delete(question.id);
    });
  }

  private put(question: string, answer: ChatInputAnswer | undefined): void {
    const others = without(this.own.value, question);
    this.own.value = answer === undefined ? others : {...others, [question]: answer};
  }

  private clearMark(question: string): void {
    if (!this.foreign.value.has(question)) return;
    this.foreign.value = new Set([...this.foreign.value].filter(other => other !== question));
  }

  private sharedOf(question: ChatInputQuestion): ChatInputAnswer | undefined {
    const answers = this.request.answers ?? {};
    return Object.hasOwn(answers, question.id) ? answers[question.id] : undefined;
  }
}

const key = (answer: ChatInputAnswer | undefined): string => (answer === undefined ? '' : JSON.stringify(answer));
