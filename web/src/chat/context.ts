/** What the rows of one transcript share. */
import {type Signal, signal} from '@preact/signals';
import {createContext} from 'preact';
import {useContext} from 'preact/hooks';
import type {FollowedChat} from '../store/index.ts';
import type {ChatRef} from '../ui/registry.tsx';

/** What the tool of a call is for, as its agent says; around what the tool gave. */
export const ToolKindContext = createContext<string | undefined>(undefined);

/** What is opened and closed in a transcript, by key; kept while rows come and go. */
export class Folds {
  /** Folds of which rows are made: calls in a row. */
  readonly rows = signal<ReadonlySet<string>>(new Set());
  private readonly inside = new Map<string, Signal<boolean>>();

  /** Whether something inside a row is open. */
  of(key: string, isOpen = false): Signal<boolean> {
    let found = this.inside.get(key);
    if (!found) this.inside.set(key, (found = signal(isOpen)));
    return found;
  }

  openRows(key: string): void {
    if (!this.rows.peek().has(key)) this.toggleRows(key);
  }

  toggleRows(key: string): void {
    const next = new Set(this.rows.peek());
    if (!next.delete(key)) next.add(key);
    this.rows.value = next;
  }
}

export interface TranscriptContext {
  readonly at: ChatRef;
  readonly folds: Folds;
  readonly followed: FollowedChat;
}

const Context = createContext<TranscriptContext | undefined>(undefined);

export const TranscriptProvider = Context.Provider;

/** The transcript around a row; rows shown alone, as in a sheet, keep folds of their own. */
export const useTranscript = (): TranscriptContext | undefined => useContext(Context);

const alone = new Folds();

/** The key under which a thought is kept open. */
export const thoughtFold = (turn: string, index: number): string => `${turn}/${index}/thought`;

/** The key under which a call's details are kept open. */
export const callFold = (turn: string, call: string): string => `${turn}/${call}/details`;

/** The key under which all of a call's output is shown. */
export const outputFold = (turn: string, call: string, kind: 'text' | 'terminal'): string => `${turn}/${call}/${kind}`;

/** Whether the thing with this key is open, as a signal to read and set. */
export function useFold(key: string, isOpen = false): Signal<boolean> {
  return (useTranscript()?.folds ?? alone).of(key, isOpen);
}
