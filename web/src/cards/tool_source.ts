/** Whose tool a call would use, and with what: for calls to MCP servers (pure). */
import type {SessionState, ToolCallContributor} from '../ahp/index.ts';
import {entryOf} from '../tools/entries.ts';

/** A tool of a server, by the names under which a person knows both. */
export interface ServerTool {
  /** Undefined if the session does not list the server. */
  readonly server: string | undefined;
  readonly tool: string;
}

interface Call {
  readonly contributor?: ToolCallContributor;
  readonly toolName: string;
}

/** The server and the tool of a call; undefined for a tool that is no server's. The name comes from the session's list: what a call says of itself proves nothing. */
export function serverToolOf(call: Call, session: SessionState | undefined): ServerTool | undefined {
  if (call.contributor?.kind !== 'mcp') return undefined;
  const server = entryOf(session, call.contributor.customizationId)?.name;
  // Agents know it by "server__tool", which the server's name stands before already.
  const [, tool = call.toolName] = /^[\w-]*?__(.+)$/s.exec(call.toolName) ?? [];
  return {server, tool};
}

/** JSON on lines of its own, every character of it kept but for the space between its parts. Other text stays as it is. */
export function indented(text: string): string {
  if (!/^\s*[{[]/.test(text) || text.length > MOST) return text;
  let made = '';
  let depth = 0;
  let before = '';
  const newLine = (): string => `\n${'  '.repeat(depth)}`;
  for (const [token] of text.matchAll(TOKEN)) {
    if (SPACE.test(token)) continue;
    const opened = before === '{' || before === '[';
    if (token === '}' || token === ']') {
      depth = Math.max(0, depth - 1);
      if (!opened) made += newLine();
    } else if (opened || before === ',') made += newLine();
    made += token === ':' ? ': ' : token;
    if (token === '{' || token === '[') depth = Math.min(MOST_DEPTH, depth + 1);
    before = token;
  }
  return made;
}

/** Longer input is shown as it is. */
const MOST = 100_000;
const MOST_DEPTH = 20;
// A string, a run of what is space in JSON and nowhere hides anything, a sign of structure, or anything else.
const TOKEN = /"(?:[^"\\]|\\.)*"?|[ \t\r\n]+|[{}[\],:]|[^ \t\r\n{}[\],:"]+/gs;
const SPACE = /^[ \t\r\n]/;
