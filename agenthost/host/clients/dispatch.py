"""``dispatchAction``: a client's action, from its own words to the channel's one writer."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from agenthost.agents.api import Agent, AgentError
from agenthost.errors import InvalidParams, WireError
from agenthost.host.clients.forwarded_actions import OWNED_ELSEWHERE
from agenthost.host.clients.methods import handles
from agenthost.host.clients.resent_actions import without_filled_in
from agenthost.host.log.channel import AnyChannel, OwnerChannel
from agenthost.host.log.writer import ClientAction
from agenthost.protocol.inbound import accept_action
from agenthost.protocol.jsonrpc import dumps
from agenthost.protocol.schema.scalars import Whole
from agenthost.protocol.versions import NOWHERE, Whereabouts, reduce, translator

if TYPE_CHECKING:
    from agenthost.host.clients.connection import Connection
    from agenthost.host.clients.forwarded_actions import TakenAction
    from agenthost.protocol.common import Action, JsonObject, ProtectedResourceMetadata

_NUMBER = Whole(minimum=0)


@handles("dispatchAction")
async def dispatch_action(connection: Connection, params: JsonObject) -> None:
    """Apply a client's action, or send it back to its origin with the reason."""
    uri, client_seq, raw = params.get("channel"), params.get("clientSeq"), params.get("action")
    if isinstance(client_seq, float) and client_seq.is_integer():
        # Some clients have only floating-point numbers.
        client_seq = int(client_seq)
    if not isinstance(uri, str) or client_seq is None or not _NUMBER.accepts(client_seq):
        raise InvalidParams("dispatchAction needs a channel, a clientSeq and an action")
    core = connection.core
    as_sent = raw if isinstance(raw, dict) else {}
    dispatch = ClientAction(connection, client_seq, uri, as_sent)
    try:
        channel = await connection.find(uri)
    except WireError as error:
        return _reject(dispatch, error.message)
    if channel is None:
        # Who does not hear of it would wait for ever, for instance on a session just disposed of.
        return _reject(dispatch, "there is no such channel")
    core.metrics.count("agenthost_actions_dispatched_total")
    owner = core.directory.owner(channel)
    judged = channel.kind.judged_on(channel, owner, as_sent.get("type", ""))
    taken = _take_up(connection, params, uri, client_seq, as_sent)
    if taken is not None and taken.is_known:
        return await _answer_as_before(dispatch, channel, taken)
    with taken or contextlib.nullcontext():
        await _decide(connection, dispatch, channel, judged, taken)


async def _decide(
    connection: Connection,
    dispatch: ClientAction,
    channel: AnyChannel,
    judged: AnyChannel,
    taken: TakenAction | None,
) -> None:
    core, as_sent, client_seq = connection.core, dispatch.as_sent, dispatch.client_seq
    action = await _accept(connection, dispatch, channel, judged, taken)
    if action is None:
        return
    # Another one, perhaps, than before the action was judged.
    owner = core.directory.owner(channel)
    prepared = channel.kind.prepare(channel, owner, action, as_sent, core.clock.now())
    for consequence in prepared.first:
        core.effects.carry_out(consequence)
    if prepared.action is None:
        core.clients.unlogged(connection.client_id).add(channel.uri, client_seq, action)
        return core.writer.acknowledge(dispatch)
    if prepared.awaited is not None:
        try:
            await core.effects.carry_out_later(prepared.awaited)
        except AgentError as error:
            return _reject(dispatch, str(error), taken)
        refusal = await _refusal(connection, judged, action)
        if refusal is not None:
            return _reject(dispatch, refusal, taken)
    if prepared.rewritten:
        dispatch = replace(dispatch, rewritten=True)
    is_applied = core.writer.apply(channel, prepared.action, dispatch)
    if taken is not None:
        taken.is_applied = is_applied
    if prepared.later is not None:
        await core.effects.carry_out_later(prepared.later)


def _take_up(
    connection: Connection, params: JsonObject, uri: str, client_seq: int, action: Action
) -> TakenAction | None:
    """Take note of an action that a front passes on; others are told apart when they reconnect."""
    passed_on = params.get("_passedOn")
    if not connection.hears_logs_elsewhere or not isinstance(passed_on, dict):
        return None
    book = connection.core.clients.unlogged(connection.client_id).taken
    id, again = str(passed_on.get("id")), bool(passed_on.get("again"))
    likeness = hash(dumps(without_filled_in(action)))
    return book.take_up(id, (uri, client_seq, likeness), again=again)


async def _answer_as_before(
    dispatch: ClientAction, channel: AnyChannel, taken: TakenAction
) -> None:
    """Answer an action that was taken up before, behind what came of it."""
    await taken.decided()
    core = dispatch.connection.core
    await core.writer.ledger.settle()
    if taken.refusal is not None:
        _reject(dispatch, taken.refusal)
    elif taken.is_applied:
        _answer_again(dispatch, channel, dispatch.as_sent)
    else:
        core.writer.acknowledge(dispatch)


async def _accept(
    connection: Connection,
    dispatch: ClientAction,
    addressed: AnyChannel,
    channel: AnyChannel,
    taken: TakenAction | None,
) -> Action | None:
    """Return an action in canonical form, or None when its sender was told why not."""
    core = connection.core
    if not channel.kind.has_state:
        _reject(dispatch, "there is nothing to change in this channel", taken)
        return None
    around = await _whereabouts(connection, dispatch, channel)
    try:
        action = accept_action(
            connection.version,
            channel.kind.name,
            dispatch.as_sent,
            channel.state,
            now=core.clock.now(),
            around=around,
        )
    except InvalidParams as error:
        _reject(dispatch, error.message, taken)
        return None
    resent = connection.resent
    if resent is not None and resent.is_done(channel.uri, dispatch.client_seq, action):
        _answer_again(dispatch, channel, action)
        return None
    if core.remote_owner is not None:
        await core.remote_owner.dispatch(dispatch, addressed, action)
        return None
    refusal = core.policy.dispatch(
        connection.principal, channel.kind.name, action, core.policy_context
    )
    refusal = refusal or await _refusal(connection, channel, action)
    if refusal is not None:
        _reject(dispatch, refusal, taken)
        return None
    return action


async def _whereabouts(
    connection: Connection, dispatch: ClientAction, channel: AnyChannel
) -> Whereabouts:
    if translator(connection.version).is_identity:
        return NOWHERE
    directory = connection.core.directory
    owner = directory.owner(channel)
    return await channel.kind.place(channel, owner, dispatch.as_sent, directory.find)


def _answer_again(dispatch: ClientAction, channel: AnyChannel, action: Action) -> None:
    """Answer an action that was done already, so that its sender's mirror comes out right."""
    core = dispatch.connection.core
    after = reduce(channel.kind.name, channel.state, action, now=core.clock.now())
    if after is channel.state:
        core.writer.acknowledge(dispatch)
    else:
        # The state has moved on since; applied again, it would be wrong.
        _reject(dispatch, "this was done already, before the connection was lost")


def _reject(dispatch: ClientAction, reason: str, taken: TakenAction | None = None) -> None:
    if taken is not None:
        taken.refusal, taken.is_elsewhere = reason, reason.endswith(OWNED_ELSEWHERE)
    core = dispatch.connection.core
    core.metrics.count("agenthost_actions_rejected_total")
    core.writer.reject(dispatch, reason)


async def _refusal(connection: Connection, channel: AnyChannel, action: Action) -> str | None:
    core = connection.core
    owner = core.directory.owner(channel)
    context = await channel.kind.gather(channel, owner, action, _Surroundings(connection))
    if not core.directory.has(channel):
        try:
            # Whoever has it now is asked instead.
            await core.directory.find(channel.uri)
        except WireError as error:
            return error.message
        return "the channel was removed meanwhile"
    if core.directory.owner(channel) is not owner:
        # What was gathered is true of the session that it was in.
        return "the channel was moved to another session meanwhile"
    declined = channel.kind.judge(channel, action, context)
    if declined is None:
        return None
    for method, params in declined.notices:
        core.writer.notify(channel, method, params, only=frozenset({connection}))
    return declined.reason


class _Surroundings(Struct, frozen=True):
    """What a kind may ask for to judge an action of one connection."""

    connection: Connection

    async def find(self, uri: str) -> AnyChannel | None:
        return await self.connection.core.directory.find(uri)

    def agent(self, session: OwnerChannel) -> Agent | None:
        return self.connection.core.agents.get(session.state["provider"])

    def missing_tokens(self, session: OwnerChannel) -> Sequence[ProtectedResourceMetadata]:
        principal = self.connection.principal.name
        return self.connection.core.sessions.missing_tokens(session, principal)
