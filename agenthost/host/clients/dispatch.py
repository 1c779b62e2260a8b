"""``dispatchAction``: a client's action, from its own words to the channel's one writer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agenthost.errors import InvalidParams
from agenthost.host.channels.chat.answers import read_answers
from agenthost.host.channels.chat.kind import CHAT
from agenthost.host.channels.chat.rules import find_call
from agenthost.host.channels.chat.window import reveal
from agenthost.host.channels.rules import check
from agenthost.host.channels.session.kind import SESSION
from agenthost.host.clients.methods import handles
from agenthost.host.log.channel import AnyChannel
from agenthost.host.log.writer import ClientAction
from agenthost.protocol.inbound import accept_action
from agenthost.protocol.schema.scalars import Whole
from agenthost.protocol.versions import reduce

if TYPE_CHECKING:
    from agenthost.host.clients.connection import Connection

Params = dict[str, Any]
Action = dict[str, Any]

_NUMBER = Whole(minimum=0)
RENAME = "session/titleChanged"


@handles("dispatchAction")
async def dispatch_action(connection: Connection, params: Params) -> None:
    """Apply a client's action, or send it back to its origin with the reason."""
    uri, client_seq, raw = params.get("channel"), params.get("clientSeq"), params.get("action")
    if isinstance(client_seq, float) and client_seq.is_integer():
        # Some clients have only floating-point numbers.
        client_seq = int(client_seq)
    if not isinstance(uri, str) or client_seq is None or not _NUMBER.accepts(client_seq):
        raise InvalidParams("dispatchAction needs a channel, a clientSeq and an action")
    core = connection.core
    channel = await core.directory.find(uri)
    as_sent = raw if isinstance(raw, dict) else {}
    dispatch = ClientAction(connection, client_seq, uri, as_sent)
    if channel is None:
        # Who does not hear of it would wait for ever, for instance on a session just disposed of.
        return _reject(dispatch, "there is no such channel")
    core.metrics.count("agenthost_actions_dispatched_total")
    session = core.directory.get(channel.session or "")
    if session is not None and channel.kind is CHAT and as_sent.get("type") == RENAME:
        return await _rename(dispatch, channel, session)
    action = await _accept(dispatch, channel)
    if action is None:
        return
    if action["type"] == "chat/truncated" and "turnId" in action:
        reveal(channel, action["turnId"])
    core.chats.reveal_attached(action.get("message"))
    if action["type"] == "chat/toolCallConfirmed" and not action["approved"]:
        call = find_call(channel.state, action)
        if call is not None and call["status"] == "running":
            # No denial changes a call that runs, so its owner's is carried out as a failure.
            reason = action.get("reasonMessage") or "the client does not run this tool"
            core.active_clients.fail_call(channel, call, reason, "denied")
            return core.writer.acknowledge(dispatch)
    understood = read_answers(channel.state, action)
    if understood is not action:
        dispatch = replace(dispatch, rewritten=True)
    core.writer.apply(channel, _completed(connection, channel, understood, as_sent), dispatch)
    if action["type"] == "session/workingDirectoryRemoved":
        await core.chats.leave_directory(channel, action["directory"])


async def _accept(dispatch: ClientAction, channel: AnyChannel) -> Action | None:
    """Return an action in canonical form, or None when its sender was told why not."""
    connection = dispatch.connection
    core = connection.core
    try:
        action = accept_action(
            connection.version,
            channel.kind.name,
            dispatch.as_sent,
            channel.state,
            now=core.clock.now(),
        )
    except InvalidParams as error:
        _reject(dispatch, error.message)
        return None
    if connection.resent.is_done(channel.uri, dispatch.client_seq, action):
        _answer_again(dispatch, channel, action)
        return None
    refusal = core.policy.dispatch(
        connection.principal, channel.kind.name, action, core.policy_facts
    )
    refusal = refusal or await _refusal(connection, channel, action)
    if refusal is not None:
        _reject(dispatch, refusal)
        return None
    return action


def _answer_again(dispatch: ClientAction, channel: AnyChannel, action: Action) -> None:
    """Answer an action that was done already, so that its sender's mirror comes out right."""
    core = dispatch.connection.core
    after = reduce(channel.kind.name, channel.state, action, now=core.clock.now())
    if after is channel.state:
        core.writer.acknowledge(dispatch)
    else:
        # The state has moved on since; applied again, it would be wrong.
        _reject(dispatch, "this was done already, before the connection was lost")


async def _rename(dispatch: ClientAction, chat: AnyChannel, session: AnyChannel) -> None:
    """Rename a chat, as editors do it: by the session's action on the chat's channel."""
    action = await _accept(dispatch, session)
    if action is not None:
        core = dispatch.connection.core
        core.chats.rename(chat, session, action["title"])
        core.writer.acknowledge(dispatch)


def _reject(dispatch: ClientAction, reason: str) -> None:
    core = dispatch.connection.core
    core.metrics.count("agenthost_actions_rejected_total")
    core.writer.reject(dispatch, reason)


async def _refusal(connection: Connection, channel: AnyChannel, action: Action) -> str | None:
    core = connection.core
    session = core.directory.get(channel.session) if channel.session else channel
    if session is not None and session.kind is not SESSION:
        session = None
    facts = await core.chats.facts(
        connection.client_id,
        session,
        core.sessions.capabilities(session),
        action,
        core.sessions.models(session),
    )
    if not core.directory.has(channel):
        return "the channel was removed meanwhile"
    refusal = check(channel.state, read_answers(channel.state, action), facts)
    if refusal is None and session is not None and _starts_turn(action):
        refusal = _sign_in_first(connection, channel, session)
    return refusal


def _starts_turn(action: Action) -> bool:
    """Say whether an action makes the agent work, now or as soon as it has time."""
    queues = action["type"] == "chat/pendingMessageSet" and action["kind"] == "queued"
    return bool(queues or action["type"] == "chat/turnStarted")


def _sign_in_first(connection: Connection, chat: AnyChannel, session: AnyChannel) -> str | None:
    """Ask for the tokens that the session's agent needs and this client has not brought."""
    core = connection.core
    missing = core.sessions.missing_tokens(session, connection.principal.name)
    for item in missing:
        params = {"resource": item["resource"], "reason": "required"}
        core.writer.notify(chat, "auth/required", params, only=frozenset({connection}))
    return "the agent needs you to sign in first" if missing else None


def _completed(
    connection: Connection, channel: AnyChannel, action: Action, as_sent: Action
) -> Action:
    """Fill in what only the host can measure for clients that do not send it."""
    if action["type"] == "chat/turnCancelled" and "duration" not in as_sent:
        return {**action, "duration": connection.core.turns.elapsed(channel.uri)}
    return action
