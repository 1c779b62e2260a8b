/** Views by kind: each room registers its own, nobody edits another's switch. What is not registered is told and shown raw. */
import type {ComponentType} from 'preact';
import type {ChatInputQuestion, Json, ResponsePart, ToolCallState, ToolResultContent} from '../ahp/index.ts';
import {words} from '../words/index.ts';

/** Characters of raw data that are shown at most. */
const MOST_RAW = 20_000;

/** A chat, by the names of its channels. */
export interface ChatRef {
  readonly session: string;
  readonly chat: string;
}

/** A part of a turn. */
export interface PartRef extends ChatRef {
  readonly turn: string;
  readonly index: number;
}

/** A tool call in a turn. */
export interface CallRef extends PartRef {
  readonly call: string;
}

/** A request for input in a turn. */
export interface RequestRef extends PartRef {
  readonly request: string;
}

export interface UnknownProps {
  readonly kind: string;
  readonly raw: unknown;
}

/** Something of a kind that this page does not know, with its raw data folded. */
export function Unknown({kind, raw}: UnknownProps) {
  return (
    <details class="ui-unknown">
      <summary>{words.shell.unknownKind(kind)}</summary>
      <pre>{rawText(raw)}</pre>
    </details>
  );
}

function rawText(raw: unknown): string {
  try {
    return (JSON.stringify(raw, null, 2) ?? String(raw)).slice(0, MOST_RAW);
  } catch {
    return String(raw);
  }
}

/** The views of one thing that comes in kinds. */
export class Registry<P extends object> {
  private readonly views = new Map<string, ComponentType<P>>();
  private readonly unknown = new Map<string, ComponentType<P>>();

  set(key: string, view: ComponentType<P>): void {
    this.views.set(key, view);
  }

  has(key: string): boolean {
    return this.views.has(key);
  }

  /** The view of a kind; for one that nobody registered, a view that says so. */
  get(key: string): ComponentType<P> {
    return this.views.get(key) ?? this.unknownView(key);
  }

  // The same component each time, so that an unknown thing is not built anew at every draw.
  private unknownView(key: string): ComponentType<P> {
    let view = this.unknown.get(key);
    if (!view) {
      view = (props: P) => <Unknown kind={key} raw={props} />;
      this.unknown.set(key, view);
    }
    return view;
  }
}

/** Parts of a response, by `part.kind`. */
export const partViews = new Registry<{part: ResponsePart; at: PartRef; running: boolean}>();
/** Tool calls, by `call.status`. */
export const callViews = new Registry<{call: ToolCallState; at: CallRef}>();
/** What a tool gave, by `content.type`. */
export const contentViews = new Registry<{content: ToolResultContent; at: CallRef}>();
/** Questions, by `question.kind`. */
export const questionViews = new Registry<{question: ChatInputQuestion; answer: Json; set(answer: Json): void; at: RequestRef}>();
/** Workspace panels, by name. */
export const panelViews = new Registry<{session: string; chat: string}>();
