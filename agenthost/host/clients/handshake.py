"""Opening a connection: ``initialize``, ``reconnect``, and ``ping`` at any time."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

from agenthost.errors import NotFound, WireError
from agenthost.host.clients.client_records import ClientRecord
from agenthost.host.clients.methods import EncodedResult, handles
from agenthost.host.clients.resent_actions import done_since
from agenthost.host.clients.resume import catch_up
from agenthost.host.clients.subscriptions import joined, snapshot, subscribe_from_now, unfollow
from agenthost.host.log.channel import AnyChannel
from agenthost.host.store import StoreDamaged
from agenthost.protocol.inbound import accept_params
from agenthost.protocol.jsonrpc import dumps
from agenthost.protocol.own_members import PAGE_PROGRAM, own_members
from agenthost.protocol.uris import ROOT, canonical
from agenthost.protocol.versions import negotiate, translator
from agenthost.tokens import Role
from agenthost.transport import CloseCode

if TYPE_CHECKING:
    from agenthost.host.clients.connection import Connection
    from agenthost.protocol.common import JsonObject
    from agenthost.protocol.own_commands import AboutResult

log = logging.getLogger(__name__)

# What editors want to know before they show sessions and automations of a host: that sessions are
# named as the protocol names them, and that automations run by themselves.
_META = {"vscode.ahpSessionUris": True}
_AUTOMATIONS_META = {"vscode.autonomousAutomations": True}


@handles("ping")
async def ping(connection: Connection, params: JsonObject) -> None:
    """Show that the host is alive, behind all that the client was to be told before."""
    await connection.told_news()


@handles("initialize")
async def initialize(connection: Connection, raw: JsonObject) -> EncodedResult:
    """Agree on a version, take up the client, and answer with the snapshots it asked for."""
    core = connection.core
    # A newer client may have reshaped anything but its offer, so that is read first.
    agreed = negotiate(raw.get("protocolVersions"))
    params = accept_params(agreed.version, "initialize", raw)
    core.policy.command(connection.principal, "initialize", params, core.policy_context)
    core.clients.claim(params["clientId"], connection.principal)
    # What others have done may not be here yet.
    await core.writer.ledger.reach()
    channels = await _find(connection, agreed.version, params.get("initialSubscriptions", ()))
    if params.get("clientInfo", {}).get("name") == PAGE_PROGRAM:
        # It is made for the first who can use it; nothing may be awaited later on.
        await core.push_book.public_key()
    record = ClientRecord(
        params["clientId"],
        connection.principal.name,
        agreed.version,
        agreed.answer,
        params.get("capabilities", {}),
        params.get("locale"),
        params.get("clientInfo", {}).get("name", ""),
    )
    if connection.hears_logs_elsewhere:
        record.arrivals = raw.get("_arrival", 0)
    core.clients.came(record)
    connection.establish(record)
    if connection.hears_logs_elsewhere:
        connection.spoken = raw.get("_spoken", agreed.version)
    snapshots = []
    for uri, channel in channels.items():
        subscription = subscribe_from_now(connection, channel, uri)
        if channel.kind.has_state and not subscription.is_quiet:
            snapshots.append(snapshot(connection, channel, subscription))
    result: JsonObject = {
        "protocolVersion": agreed.answer,
        "serverSeq": core.writer.ledger.last_seq,
        "serverInfo": dict(core.server_info),
        "defaultDirectory": core.default_directory,
        "completionTriggerCharacters": ["/", "@", "#"],
        "snapshots": [],
        "_meta": {**_META, **own_members(_told(connection))},
    }
    if core.shells.prefix is not None:
        result["terminalCommandPrefix"] = core.shells.prefix
    if core.automations.capabilities is not None:
        result["automations"] = core.automations.capabilities
        result["_meta"] |= _AUTOMATIONS_META
    telemetry = core.telemetry.capabilities
    if telemetry is not None and connection.principal.role is Role.OWNER:
        # They tell of all sessions, so that nobody else may follow them.
        result["telemetry"] = dict(telemetry)
    result = translator(agreed.version).result_down("initialize", params, result)
    head = dumps({key: value for key, value in result.items() if key != "snapshots"})
    return EncodedResult(head[:-1], b',"snapshots":[', *joined(snapshots), b"]}")


@handles("reconnect")
async def reconnect(connection: Connection, params: JsonObject) -> EncodedResult:
    """Resume where a dropped connection of the same client ended."""
    core = connection.core
    last_seen = params["lastSeenServerSeq"]
    # What another node has shown may not be here yet.
    if not await core.writer.ledger.reach(last_seen):
        # A snapshot would take back what this client was shown. Nothing is answered, or it would
        # begin anew and get one all the same.
        connection.end(CloseCode.TRY_AGAIN_LATER, "this node is behind; reconnect to resume")
        raise NotFound("this node is behind")
    record = core.clients.recall(params["clientId"])
    if record is None:
        raise NotFound("this client is not known here: initialize")
    core.clients.claim(record.client_id, connection.principal)
    lists = core.news is not None and ROOT in map(canonical, params["subscriptions"])
    if lists and core.news is not None and not core.news.knows(last_seen):
        # Who resumes does not list the sessions again, and nobody could say which have gone.
        raise NotFound("what happened to the list of sessions is not known here: initialize")
    core.clients.returned(record)
    channels = await _find(connection, record.version, params["subscriptions"])
    resumed = {canonical(uri) for uri in channels}
    listed_once = dict.fromkeys(params["subscriptions"])
    missing = [uri for uri in listed_once if canonical(uri) not in resumed]
    connection.establish(record)
    await core.writer.ledger.settle()
    uris = [channel.uri for channel in channels.values()]
    unlogged = core.clients.unlogged(record.client_id)
    resent = await done_since(core.store, record.client_id, uris, last_seen, unlogged)
    if connection.resent is not None:
        resent.adopt(connection.resent)
    connection.resent, connection.is_returned = resent, True
    # Nothing may be awaited between this and the answer, or what happens now would overtake it.
    result = await catch_up(connection, channels, missing, last_seen)
    if core.clients.is_live(connection):
        _withdraw_where_absent(connection)
    if core.root in connection.subscriptions:
        news = (core.news or core.catalogue).send_missed(connection, last_seen)
        # Once this has been answered.
        connection.news = core.tasks.start(news, name=f"list news for {connection.name}")
    return EncodedResult(*result)


@handles("agenthost/about")
async def about(connection: Connection, params: JsonObject) -> AboutResult:
    """Say it again to a client that was away: the host may be another build, the role another."""
    return _told(connection)


def _told(connection: Connection) -> AboutResult:
    """Return who the client is here, and what of this host its page needs to know."""
    core, principal = connection.core, connection.principal
    told: AboutResult = {"me": {"name": principal.name, "role": principal.role.value}}
    if core.page_build is not None:
        told["page"] = core.page_build
    if core.push_book.keys is not None:
        told["push"] = core.push_book.keys.public
    return told


async def _find(connection: Connection, version: str, uris: Iterable[str]) -> dict[str, AnyChannel]:
    """Return the channels that exist, each once, under the spelling the client used first."""
    found: dict[str, AnyChannel] = {}
    seen: set[str] = set()
    # A chat may be asked for under two names.
    channels: set[str] = set()
    for uri in uris:
        if canonical(uri) in seen:
            continue
        seen.add(canonical(uri))
        # No client follows more than this, so none has more to name.
        if len(seen) > connection.core.limits.max_subscriptions:
            break
        try:
            channel = await connection.core.directory.find(uri)
        except StoreDamaged as error:
            # Whoever asks for it by itself is told; here it must not cost the client the others.
            log.error("%s is missing for %s: %s", ascii(uri), connection.name, error)
            continue
        except WireError as error:
            log.info("%s is missing for %s: %s", ascii(uri), connection.name, error.message)
            continue
        if channel is None or not connection.may_follow(channel, version):
            continue
        if channel.uri not in channels:
            channels.add(channel.uri)
            found[uri] = channel
    return found


def _withdraw_where_absent(connection: Connection) -> None:
    """Take the client off what it took part in and did not list any more."""
    core = connection.core
    followed = {channel.uri for channel in connection.subscriptions}
    for channel in core.directory.loaded():
        if channel.uri not in followed:
            unfollow(core, channel, connection.client_id)
            if core.remote_owner is not None:
                core.remote_owner.withdrawn(connection, channel)
