/** Texts of the transcript. */
const many = (count: number, one: string, more: string): string => `${count.toLocaleString('en')} ${count === 1 ? one : more}`;

/** "a, b, c" with a capital at the start. */
function listed(parts: readonly string[]): string {
  const text = parts.join(', ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export const chat = {
  transcript: 'Transcript',
  senders: {user: 'You', agent: 'Agent', tool: 'Tool', automation: 'Automation', systemNotification: 'Notice'},
  empty: 'Nothing said yet.',
  gone: (reason: string) => `This chat is not here any more: ${reason}`,
  sessionGone: (reason: string) => `This session is not here any more: ${reason}`,
  creating: 'The session is being made...',
  creationFailed: 'The session could not be made.',

  loadingOlder: 'Loading older turns...',
  turnNotFound: 'The linked turn is not in this chat.',
  latest: 'Latest',
  latestNew: (count: number) => `Latest, ${count} new`,

  thinking: 'Thinking...',
  thought: 'Thought',
  thoughtFor: (time: string) => `Thought for ${time}`,

  working: 'Working',
  waiting: 'Waiting for you',
  stopped: 'Stopped',
  finished: (sentence: string) => (sentence ? `Finished: ${sentence}` : 'Finished'),
  failed: 'The turn ended with an error.',

  folded: ({read, search, terminal, other}: {read: number; search: number; terminal: number; other: number}) =>
    listed([
      ...(read ? [`read ${many(read, 'file', 'files')}`] : []),
      ...(search ? [`searched ${many(search, 'time', 'times')}`] : []),
      ...(terminal ? [`ran ${many(terminal, 'command', 'commands')}`] : []),
      ...(other ? [`used ${many(other, 'tool', 'tools')}`] : []),
    ]),

  preparing: (name: string) => `Preparing ${name}`,
  denied: 'Denied',
  skipped: 'Skipped',
  discarded: 'Result discarded',
  instead: (text: string) => `Instead: ${text}`,
  input: 'Input',
  output: 'Output',
  showAll: (lines: number) => `Show all ${many(lines, 'line', 'lines')}`,
  showLess: 'Show less',
  moreText: (characters: number) => `${many(characters, 'more character', 'more characters')} not shown`,
  copyOutput: 'Copy output',
  openTerminal: 'Open terminal',
  exitCode: (code: number) => `exit code ${code}`,
  outputCut: 'The beginning is cut off.',
  created: 'Created',
  deleted: 'Deleted',
  renamed: (from: string) => `Moved from ${from}`,
  diffUnavailable: 'The change cannot be shown.',
  image: 'Image',
  imageTooLarge: 'Too large to show here.',
  resource: 'Resource',
  contentUnavailable: 'The content cannot be read.',
  loadContent: 'Show content',
  worker: 'Worker',
  workerStates: {working: 'working', waiting: 'waiting for you', done: 'done', failed: 'failed', gone: 'gone'},
  attachments: 'Attachments',

  tokens: (count: string) => `${count} tokens`,
  tokensDetail: (input: number, output: number, cached: number) => `${input.toLocaleString('en')} in (${cached.toLocaleString('en')} cached), ${output.toLocaleString('en')} out`,
  copyMessage: 'Copy message',
  copyAnswer: 'Copy answer',
  copyLink: 'Copy link',
  fork: 'Fork from here',
  editFromHere: 'Edit from here',
  editTitle: 'Edit from here?',
  editAsk: (turns: number) => `This removes ${turns === 1 ? 'this turn' : `this turn and ${many(turns - 1, 'later one', 'later ones')}`} from the chat. The message goes back into the box.`,
  editYes: 'Remove and edit',

  agent: 'Agent',
  model: 'Model',
  approvals: (mode: string) => `Approvals: ${mode}`,
  approvalsTitle: 'What runs without asking',
  approvalsFixed: 'This session cannot change it.',
  modes: {
    default: ['Ask first', 'Edits and commands wait for you.'],
    edits: ['Allow edits', 'Files of the session change without asking. Commands and tools of servers wait for you.'],
    autoApprove: ['Allow everything', 'Edits, commands and tools run without asking.'],
  },
  openThere: 'Open there',
  runsAt: (host: string) => `Runs at ${host}`,

  chats: 'Chats',
  main: 'Main',
  untitled: 'Untitled chat',
  newChat: 'New chat',
  chatMenu: 'Chat menu',
  moveLeft: 'Move left',
  moveRight: 'Move right',
  moveOut: 'Move to a session of its own',
  notMovable: 'This chat stays where it is.',
  closeTab: 'Close tab',
  unread: 'Unread',
  disposeChat: 'Dispose chat',
  disposeTitle: 'Dispose this chat?',
  disposeAsk: 'Its transcript goes with it.',
  couldNot: (reason: string) => `That did not work: ${reason}`,
  find: 'Find in chat',
  group: 'Chat',
} as const;
