"""Handshake on a new link: initialize, or resume where the last link ended.

Owns the handshake: ``reconnect`` first where there is something to resume, ``initialize`` where
there is not or where the host has forgotten; and what then becomes of every subscription and of
every action that was under way. An action whose echo is in the replay is confirmed; one that was
never sent is sent now; for any other nobody can tell, and it is never sent twice.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from agenthost.client.errors import CannotConnect, NoCommonVersion
from agenthost.client.link.host_link import HostLink
from agenthost.client.state.channel import Channel
from agenthost.client.state.client_core import ClientCore
from agenthost.errors import RemoteProtocolError, UnsupportedProtocolVersion, WireError
from agenthost.protocol import negotiate, translator

if TYPE_CHECKING:
    from agenthost.protocol.common import JsonObject

log = logging.getLogger(__name__)

Resumed = Literal["fresh", "replay", "snapshot"]


class Introduction:
    """The client's params for ``initialize``: versions, name, language, capabilities."""

    def __init__(
        self,
        versions: Sequence[str],
        *,
        info: Mapping[str, Any] | None = None,
        locale: str | None = None,
        mcp_apps: bool = False,
    ) -> None:
        if not versions:
            raise ValueError("offer at least one protocol version")
        self.versions = tuple(versions)
        capabilities: JsonObject | None = {"mcpApps": {}} if mcp_apps else None
        self._more = {"clientInfo": info, "locale": locale, "capabilities": capabilities}

    def params(self, client_id: str, subscriptions: Sequence[str]) -> JsonObject:
        """Return the params of ``initialize``."""
        return {
            "protocolVersions": list(self.versions),
            "clientId": client_id,
            "initialSubscriptions": list(subscriptions),
            **{key: value for key, value in self._more.items() if value is not None},
        }

    def agreed(self, answer: Any) -> str:
        """Return the supported version for the one that the host chose."""
        if answer not in self.versions:
            raise RemoteProtocolError(f"the host chose {answer!r}, which was not offered")
        return negotiate([answer]).version


async def open_link(core: ClientCore, link: HostLink, introduction: Introduction) -> Resumed:
    """Shake hands on a new link; when this returns, the client is as it was before the last drop.

    Raises:
        NoCommonVersion: the host speaks none of the offered versions.
        WireError: the host refuses.
        ConnectionLost: the link ended first.
    """
    held = [channel for channel in core.channels.values() if channel.current and channel.has_state]
    if core.is_known and held:
        params = {
            "clientId": core.client_id,
            "lastSeenServerSeq": core.high_water,
            "subscriptions": [channel.uri for channel in held],
        }
        adopt = partial(_reconnected, core, link, held)
        try:
            result = await link.call("reconnect", params, adopt)
        except WireError as error:
            log.info("nothing to resume, starting over: %s", error.message)
        else:
            return "replay" if result["type"] == "replay" else "snapshot"
    await _initialize(core, link, introduction)
    return "fresh"


async def _initialize(core: ClientCore, link: HostLink, introduction: Introduction) -> None:
    # Chats of which only the end is wanted are left out: a view cannot be asked for here.
    wanted = [channel.uri for channel in core.channels.values() if channel.is_plain]
    adopt = partial(_initialized, core, link, introduction)
    try:
        await link.call("initialize", introduction.params(core.client_id, wanted), adopt)
    except UnsupportedProtocolVersion as error:
        raise NoCommonVersion(introduction.versions, _supported(error.data)) from error


def _initialized(core: ClientCore, link: HostLink, introduction: Introduction, result: Any) -> None:
    if not isinstance(result, dict) or not isinstance(result.get("serverSeq"), int):
        raise RemoteProtocolError("the answer to initialize is malformed")
    core.version = introduction.agreed(result.get("protocolVersion"))
    told = {**result, "snapshots": []}
    core.host = translator(core.version).result_up("initialize", {}, told)
    core.is_known = True
    core.high_water = result["serverSeq"]
    _give_up_on_sent(core, "the host does not remember this client, so its answer is lost")
    for channel in core.channels.values():
        # Whatever is held belongs to another numbering, unless a snapshot comes for it.
        channel.current, channel.asked = False, None
    _adopt_snapshots(core, result.get("snapshots"))
    _up(core, link)


def _reconnected(
    core: ClientCore, link: HostLink, held: Sequence[Channel[Any]], result: Any
) -> None:
    match result:
        case {"type": "replay", "actions": list(actions)}:
            _replayed(core, held, actions, result.get("missing") or [])
        case {"type": "snapshot", "snapshots": list(snapshots)}:
            _restarted(core, held, snapshots)
        case _:
            # There is no way back on this link, but the next one may start over.
            core.is_known = False
            raise CannotConnect("the host's answer to reconnect is malformed")
    for channel in core.channels.values():
        # The host need not remember how much of a chat was wanted, and forgets who follows what
        # has no state.
        if not channel.is_plain or not channel.has_state:
            channel.asked = None
    _up(core, link)


def _replayed(
    core: ClientCore, held: Sequence[Channel[Any]], actions: list[Any], missing: Sequence[Any]
) -> None:
    gone = [channel for channel in held if channel.uri in missing]
    last_seen = core.high_water
    for channel in held:
        channel.resume()
    for envelope in actions:
        core.on_action(envelope)
    for channel in held:
        # One that replays something newer surely counts on from there.
        channel.unproven = core.high_water == last_seen
    for channel in gone:
        core.channel_gone(channel, "it is gone, or not for us any more")
    for channel in held:
        channel.apply_early(core.clock.now())
    _give_up_on_sent(core, "the connection was lost before its answer came")


def _restarted(core: ClientCore, held: Sequence[Channel[Any]], snapshots: list[Any]) -> None:
    _give_up_on_sent(core, "the connection was lost, and its answer is older than the new state")
    for channel in held:
        channel.current = False
    # The numbers may be lower than before: the host may have started to count anew.
    seqs = [s["fromSeq"] for s in snapshots if isinstance(s, dict) and "fromSeq" in s]
    core.high_water = max(seqs, default=core.high_water)
    _adopt_snapshots(core, snapshots)
    for channel in held:
        if not channel.current:
            core.channel_gone(channel, "it is gone, or not for us any more")


def _adopt_snapshots(core: ClientCore, snapshots: Any) -> None:
    for snapshot in snapshots or ():
        if not isinstance(snapshot, dict) or not {"resource", "state", "fromSeq"} <= set(snapshot):
            raise RemoteProtocolError("the host sent a malformed snapshot")
        channel = core.channels.get(str(snapshot["resource"]))
        if channel is not None:
            core.adopt(channel, snapshot)
            channel.asked = {"channel": channel.uri}


def _give_up_on_sent(core: ClientCore, why: str) -> None:
    for dispatch in core.dispatches.all():
        if dispatch.sent_at is not None:
            core.fail(dispatch, why)


def _up(core: ClientCore, link: HostLink) -> None:
    core.link = link
    core.send_unsent()
    for channel in list(core.channels.values()):
        core.ensure_open(channel)
    for listener in tuple(core.on_up):
        listener()


def _supported(data: Any) -> list[str]:
    versions = data.get("supportedVersions") if isinstance(data, dict) else None
    return [str(version) for version in versions] if isinstance(versions, list) else []
