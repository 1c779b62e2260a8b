/**
 * Mirrors all of a host's sessions for a test in another process: `node mirror_main.ts ws://HOST/?tkn=TOKEN`.
 *
 * Each line of standard input is a request, each line of standard output its answer, both JSON with the same
 * `id`: `report` gives every state that is held once the host has nothing more to say, `draft` types into a
 * chat. Comes back by itself when the host is killed, and ends with its input.
 */
import {createInterface} from 'node:readline';
import {Core, SessionList, listSessions} from '../src/ahp/index.ts';

type Json = any;

const ROOT = 'ahp-root://' as const;
const PAUSE_MS = 40;
const url = process.argv[2]!;

const timer = {
  now: () => performance.now(),
  after: (ms: number, run: () => void) => {
    const timeout = setTimeout(run, ms);
    return () => clearTimeout(timeout);
  },
};
const introduce = () => ({channel: ROOT, clientId: 'mirror', protocolVersions: ['1.0.0']});
const core = new Core({clientId: `mirror-${process.pid}`, firstSeq: 1, timer, introduce});
const sessions = new SessionList(() => listSessions(core));
const followed = new Set<string>();
/** How each wire was taken up, for whoever wonders what was tested. */
const resumed: string[] = [];
let up = false;
let whenUp: (() => void)[] = [];

function follow(uri: unknown): void {
  if (typeof uri !== 'string' || followed.has(uri)) return;
  followed.add(uri);
  core.follow(uri);
}

/** Follow what a channel leads to. */
function explore(uri: string): void {
  const channel = core.channels.get(uri);
  if (!channel) followed.delete(uri);
  const state: Json = channel?.mirror?.state;
  for (const chat of state?.chats ?? []) follow(chat.resource);
  for (const changes of state?.changesets ?? []) if (!String(changes.uriTemplate ?? '{').includes('{')) follow(changes.uriTemplate);
  if (state?.lifecycle) follow(state.annotations?.resource ?? `${uri}/annotations`);
  for (const terminal of state?.terminals ?? []) follow(terminal.resource);
}

core.onChange = uris => uris.forEach(explore);
core.onNotice = (method, params) => sessions.notice(method, params);
sessions.onChange = () => sessions.sessions.forEach(summary => follow(summary.resource));

function connect(): void {
  const socket = new WebSocket(url);
  socket.addEventListener('open', () => {
    const wire = {send: (frame: unknown) => socket.send(JSON.stringify(frame)), close: () => socket.close()};
    core.attach(wire).then(
      async how => {
        resumed.push(how);
        await sessions.refresh();
        up = true;
        for (const go of whenUp.splice(0)) go();
      },
      () => socket.close(),
    );
  });
  socket.addEventListener('message', event => core.receive(JSON.parse(String(event.data))));
  socket.addEventListener('error', () => {});
  socket.addEventListener('close', () => {
    up = false;
    core.detach('closed');
    setTimeout(connect, PAUSE_MS);
  });
}

const isUp = (): Promise<void> => (up ? Promise.resolve() : new Promise(resolve => whenUp.push(resolve)));

/** Everything that is held, once all that the host had to say has arrived. */
async function report(): Promise<Json> {
  for (;;) {
    await isUp();
    try {
      // Twice: what the first brings may lead to more.
      await core.request('ping', {});
      await core.request('ping', {});
    } catch {
      continue;
    }
    const channels = [...core.channels.values()];
    if (up && channels.every(channel => channel.live && channel.mirror && !channel.mirror.pending.length)) {
      return {resumed, states: Object.fromEntries(channels.map(channel => [channel.uri, channel.mirror!.state]))};
    }
    await new Promise(resolve => setTimeout(resolve, PAUSE_MS));
  }
}

async function obey(line: Json): Promise<Json> {
  if (line.do === 'report') return report();
  const {outcome} = core.dispatch(line.chat, {type: 'chat/draftChanged', draft: {text: line.text, origin: {kind: 'user'}}} as Json);
  return line.wait ? outcome : {sent: true};
}

follow(ROOT);
connect();
const input = createInterface({input: process.stdin});
input.on('line', text => {
  const line: Json = JSON.parse(text);
  void obey(line).then(answer => process.stdout.write(`${JSON.stringify({id: line.id, ...answer})}\n`));
});
input.on('close', () => process.exit(0));
