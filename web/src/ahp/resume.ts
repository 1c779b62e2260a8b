/**
 * The handshake on a new wire: initialize, or resume where the last wire ended.
 *
 * Owns what then becomes of every subscription and of every action that was under way. An action whose
 * echo is in the replay is confirmed; one that was never sent is sent now; for any other nobody can
 * tell, and it is never sent twice.
 */
import {BadHost, type FollowedChannel} from './channel.ts';
import type {Core} from './core.ts';
import type {J} from './edits.ts';

export type Resumed = 'fresh' | 'replay' | 'snapshot';

const GONE = 'it is gone, or not for us any more';

/** Take in the answer to `initialize`. */
export function initialized(core: Core, result: J): Resumed {
  if (!Number.isInteger(result?.serverSeq)) throw new BadHost('the answer to initialize is malformed');
  core.host = result;
  core.isKnown = true;
  core.highWater = result.serverSeq;
  giveUpOnSent(core, 'the host does not remember this client, so its answer is lost');
  for (const channel of core.channels.values()) {
    // Whatever is held belongs to another numbering, unless a snapshot comes for it.
    channel.current = false;
    channel.asked = undefined;
  }
  adoptSnapshots(core, result.snapshots ?? []);
  return 'fresh';
}

/** Take in the answer to `reconnect`. */
export function reconnected(core: Core, held: readonly FollowedChannel[], result: J): Resumed {
  if (result?.type === 'replay' && Array.isArray(result.actions)) replayed(core, held, result.actions, result.missing ?? []);
  else if (result?.type === 'snapshot' && Array.isArray(result.snapshots)) restarted(core, held, result.snapshots);
  else {
    // There is no way back on this wire, but the next one may start over.
    core.isKnown = false;
    throw new BadHost('the answer to reconnect is malformed');
  }
  for (const channel of core.channels.values()) {
    // The host need not remember how much of a chat was wanted, and forgets who follows what has no state.
    if (!channel.isPlain || !channel.mirror) channel.asked = undefined;
  }
  return result.type;
}

function replayed(core: Core, held: readonly FollowedChannel[], actions: readonly J[], missing: readonly J[]): void {
  const lastSeen = core.highWater;
  for (const channel of held) channel.live = true;
  for (const envelope of actions) core.onAction(envelope);
  for (const channel of held) {
    // One that replays something newer surely counts on from there.
    channel.unproven = core.highWater === lastSeen;
    if (missing.includes(channel.uri)) core.channelGone(channel, GONE);
  }
  for (const channel of held) core.applyEarly(channel);
  giveUpOnSent(core, 'the connection was lost before its answer came');
}

function restarted(core: Core, held: readonly FollowedChannel[], snapshots: readonly J[]): void {
  giveUpOnSent(core, 'the connection was lost, and its answer is older than the new state');
  for (const channel of held) channel.current = false;
  // The numbers may be lower than before: the host may have started to count anew.
  const seqs = snapshots.map(snapshot => snapshot?.fromSeq).filter(Number.isInteger);
  if (seqs.length) core.highWater = Math.max(...seqs);
  adoptSnapshots(core, snapshots);
  for (const channel of held) if (!channel.current) core.channelGone(channel, GONE);
}

function adoptSnapshots(core: Core, snapshots: readonly J[]): void {
  for (const snapshot of snapshots) {
    const channel = core.channels.get(String(snapshot?.resource));
    if (!channel) continue;
    core.adopt(channel, snapshot);
    channel.asked = {channel: channel.uri};
  }
}

function giveUpOnSent(core: Core, why: string): void {
  for (const dispatch of core.dispatches.all()) if (dispatch.sent) core.fail(dispatch, why);
}

/** End the actions that have not left: what they were meant for may be long past when there is a wire again. */
export function giveUpUnsent(core: Core, why: string): void {
  for (const dispatch of core.dispatches.all()) if (!dispatch.sent) core.fail(dispatch, why);
  core.flush();
}

/** Ask the host to say anew who we are there: it may have been updated, or the role changed, while we were away. */
export async function learnAbout(core: Core): Promise<void> {
  const told = (await core.request('agenthost/about', {})) as Record<string, J> | null;
  const members = Object.entries(told ?? {}).map(([name, value]) => [`agenthost/${name}`, value]);
  if (core.host) core.host = {...core.host, _meta: {...core.host._meta, ...Object.fromEntries(members)}};
}
