"""The client's connection-independent state: channels, pending actions, identity.

Owns subscribing, dispatching and taking in what arrives. How a new link picks all this up again is
``resume``'s; when there is a link is ``supervisor``'s; what people call is ``client``'s.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from agenthost.client.errors import ChannelGone, ClientClosed, ConnectionLost, Unsupported
from agenthost.client.link.connection_status import Closed, ConnectionStatus
from agenthost.client.resources import ResourceServer
from agenthost.client.state.channel import Channel
from agenthost.client.state.dispatches import Dispatch, Dispatches
from agenthost.client.state.signals import Feed
from agenthost.client.state.turn_window import NEWEST_TURN, WHOLE, TurnWindow
from agenthost.errors import AgentHostError, LocalProtocolError, RemoteProtocolError
from agenthost.protocol import NEWEST, translator
from agenthost.protocol.reducer_registry import client_may_dispatch, kind_of
from agenthost.protocol.schema.validation import validate_action
from agenthost.protocol.uris import ROOT, annotations_uri
from agenthost.protocol.versions import Untranslatable
from agenthost.tasks import Tasks

if TYPE_CHECKING:
    from agenthost.client.link.host_link import HostLink
    from agenthost.clock import Clock
    from agenthost.protocol.commands import InitializeResult
    from agenthost.protocol.common import JsonObject
    from agenthost.protocol.envelopes import ActionEnvelope

log = logging.getLogger(__name__)


ACTION_PATIENCE = 30.0
"""Seconds after which an action without an answer on a live link counts as lost.

A host says nothing at all about an action on a channel that it does not know.
"""

# Requests that change nothing: sent again when their answer was lost.
_REPEATABLE = frozenset(
    {
        "completions",
        "listAutomationTriggerDefinitions",
        "listSessions",
        "ping",
        "resolveSessionConfig",
        "resourceList",
        "resourceRead",
        "resourceResolve",
        "sessionConfigCompletions",
    }
)
_MOST_TRIES = 6

# Actions by which a session loses or gains a chat.
_LISTING_CHATS = frozenset({"session/chatAdded", "session/chatRemoved"})


# The action by which the host tells which terminals there are; nothing else tells of their end.
_LISTING_TERMINALS = "root/terminalsChanged"


class ClientCore:
    """The state of a client that outlives its links, and the operations on it."""

    def __init__(
        self,
        *,
        client_id: str,
        clock: Clock,
        first_seq: int,
        status: ConnectionStatus,
        request_timeout: float | None,
    ) -> None:
        self.client_id = client_id
        # Seconds within which a request must be answered; None for any time.
        self.request_timeout = request_timeout
        self.clock = clock
        self.status = status
        self.tasks = Tasks()
        # The rung spoken on this link, or on the last one.
        self.version = NEWEST
        # What the host said of itself when it was last met, its snapshots left out.
        self.host: InitializeResult = {"protocolVersion": "", "serverSeq": 0, "snapshots": []}
        # Whether the host has met this client, so that there is something to resume.
        self.is_known = False
        # The highest serverSeq seen; goes down when a host starts to count anew.
        self.high_water = 0
        self.channels: dict[str, Channel[Any]] = {}
        self.dispatches = Dispatches(first_seq)
        self.resources = ResourceServer()
        self.notifications: Feed[tuple[str, JsonObject]] = Feed()
        # Told synchronously whenever a link is up, and of every notification.
        self.on_up: list[Callable[[], None]] = []
        self.on_notice: list[Callable[[str, JsonObject], None]] = []
        self.link: HostLink | None = None

    @property
    def lists_input_needed(self) -> bool:
        """Whether the host's sessions list what waits in their chats; else the client looks."""
        return translator(self.version).exists("session/inputNeededSet")

    def can_say(self, action_type: str) -> bool:
        """Whether the host's version has an action of this type."""
        return translator(self.version).exists(action_type)

    # Requests.

    async def request(
        self,
        method: str,
        params: Mapping[str, Any],
        *,
        timeout: float | None = None,
        repeat: bool = False,
    ) -> Any:
        """Send a request in the host's version and return its result in the newest one.

        Waits for a connection when there is none. A request that changes nothing is repeated when
        its answer is lost, as is one that changes no more the second time (``repeat``).

        Raises:
            TimeoutError: there was no answer in time, waiting for a connection included.
        """
        # A cursor is worth nothing on another connection.
        repeatable = repeat or (method in _REPEATABLE and "cursor" not in params)
        async with asyncio.timeout(self.request_timeout if timeout is None else timeout):
            for tries_left in reversed(range(_MOST_TRIES if repeatable else 1)):
                try:
                    sent, result = await self._request_once(method, params)
                    return translator(self.version).result_up(method, sent, result)
                except ConnectionLost:
                    if not tries_left:
                        raise
        raise AssertionError("the last try returns or raises")

    async def request_raw(self, method: str, params: Mapping[str, Any]) -> Any:
        """Send a request once and return its result untranslated, in the host's version."""
        async with asyncio.timeout(self.request_timeout):
            _, result = await self._request_once(method, params)
            return result

    async def _request_once(self, method: str, params: Mapping[str, Any]) -> tuple[JsonObject, Any]:
        link = await self.connected()
        sent = self.params_for_host(method, {"channel": ROOT, **params})
        return sent, await link.call(method, sent)

    def params_for_host(self, method: str, params: JsonObject) -> JsonObject:
        """Translate a command's params to the host's version."""
        try:
            told: JsonObject = translator(self.version).params_down(method, params)
        except Untranslatable as error:
            raise Unsupported(error.reason) from error
        return told

    async def connected(self) -> HostLink:
        """Return the link, waiting until there is one."""
        # A link that has just ended is still there until the supervisor has looked.
        while self.link is None or self.link.ended is not None:
            count = self.status.changed.count
            self.check_open()
            await self.status.changed.wait_past(count)
        return self.link

    def check_open(self) -> None:
        """Raise the reason if the client is closed."""
        if isinstance(self.status.state, Closed):
            error = self.status.state.error or ClientClosed("the client is closed")
            # Raised as often as somebody asks, it would otherwise remember everybody who did.
            raise error.with_traceback(None)

    # Channels.

    def follow(
        self,
        uri: str,
        window: TurnWindow = WHOLE,
        max_latency: int | None = None,
        owner: str | None = None,
    ) -> Channel[Any]:
        """Start following a channel; it is subscribed to as soon as possible.

        ``owner`` is the session that it belongs to, where that is known.
        """
        channel = self.channels.get(uri)
        if channel is None:
            channel = Channel(uri, self.client_id, window, max_latency, owner)
            self.channels[uri] = channel
        else:
            channel.widen(window, max_latency)
            channel.owner = owner or channel.owner
        channel.users += 1
        self.ensure_open(channel)
        return channel

    async def subscribe(
        self,
        uri: str,
        window: TurnWindow = WHOLE,
        max_latency: int | None = None,
        owner: str | None = None,
    ) -> Channel[Any]:
        """Follow a channel and return it once its state is there, however long a drop lasts.

        Raises:
            TimeoutError: the host was there and did not answer in time.
        """
        self.check_open()
        channel = self.follow(uri, window, max_latency, owner)
        try:
            await asyncio.shield(channel.opened)
            while channel.opening is not None:
                await asyncio.wait({channel.opening})
            channel.check()
        except BaseException:
            self.unfollow(channel)
            raise
        return channel

    def unfollow(self, channel: Channel[Any]) -> None:
        """Stop following a channel; the last follower unsubscribes."""
        channel.users -= 1
        if channel.users > 0 or self.channels.get(channel.uri) is not channel:
            return
        if waiting := self.dispatches.on(channel.uri):
            # Nobody would hear what becomes of these, so the channel is followed till then.
            channel.users += 1
            waiting[-1].outcome.add_done_callback(partial(self._unfollow_after, channel))
            return
        self._forget_channel(channel, ChannelGone(channel.uri, "it is not followed any more"))
        if self.link is not None:
            self.link.notify("unsubscribe", {"channel": channel.uri})

    def ensure_open(self, channel: Channel[Any], *, again: bool = False) -> None:
        """Subscribe to a channel if its subscription is not the wanted one, or ``again``."""
        if again:
            channel.asked = None
        if channel.opening is None and channel.asked != channel.subscription_params:
            opening = self.tasks.start(self._open(channel), name=f"subscribe {channel.uri}")
            channel.opening = opening
            opening.add_done_callback(partial(self._opened, channel))

    def _opened(self, channel: Channel[Any], opening: asyncio.Task[None]) -> None:
        channel.opening = None
        succeeded = not opening.cancelled() and opening.exception() is None
        if succeeded and self.channels.get(channel.uri) is channel:
            # Something may have come up since it last looked.
            self.ensure_open(channel)

    async def _open(self, channel: Channel[Any]) -> None:
        while True:
            try:
                link = await self.connected()
                wanted = channel.subscription_params
                # A new link may have brought what is wanted, and more may be wanted by now.
                if channel.asked == wanted:
                    return
                if any(dispatch.queued for dispatch in self.dispatches.on(channel.uri)):
                    # A snapshot may hold the effect of an action, and then its echo never comes.
                    await self.dispatches.changed.wait_past(self.dispatches.changed.count)
                    continue
                adopt = partial(self._subscribed, channel, wanted)
                async with asyncio.timeout(self.request_timeout):
                    await link.call("subscribe", self.params_for_host("subscribe", wanted), adopt)
            except ConnectionLost:
                continue
            except (AgentHostError, TimeoutError) as error:
                if not channel.opened.done():
                    channel.opened.set_exception(error)
                why = channel.removed or str(error) or "the host does not answer the subscription"
                self.channel_gone(channel, why)
                return

    def _subscribed(self, channel: Channel[Any], wanted: JsonObject, result: Any) -> None:
        if self.channels.get(channel.uri) is not channel:
            # Let go of in the meantime; the host was told so right behind the question.
            return
        snapshot = result.get("snapshot") if isinstance(result, dict) else None
        if snapshot is None:
            channel.reset_to_stateless()
        else:
            last = channel.mirror.seq if channel.has_state else 0
            self.adopt(channel, snapshot)
            if channel.mirror.seq < last:
                # The host counts anew, so the next reconnect must not name the old number.
                self.high_water = channel.mirror.seq
        channel.asked, channel.removed = wanted, None
        self.send_unsent()

    def adopt(self, channel: Channel[Any], snapshot: JsonObject) -> None:
        """Reset a channel to a snapshot, with its unanswered actions on top."""
        channel.reset_to(snapshot, self.version, self.clock.now())
        if channel.kind == "chat" and "activeTurn" in channel.mirror.raw:
            self._note_turn(channel, channel.mirror.raw["activeTurn"]["id"])
        self.high_water = max(self.high_water, channel.mirror.seq)
        for dispatch in self.dispatches.on(channel.uri):
            self._predict(channel, dispatch)

    def channel_gone(self, channel: Channel[Any], reason: str) -> None:
        """End a channel that no longer exists, and the actions that wait on it."""
        self._forget_channel(channel, ChannelGone(channel.uri, reason))
        for dispatch in self.dispatches.on(channel.uri):
            self.fail(dispatch, f"the channel is gone: {reason}")

    def _forget_channel(self, channel: Channel[Any], gone: ChannelGone) -> None:
        if self.channels.get(channel.uri) is channel:
            del self.channels[channel.uri]
        if channel.opening is not None and channel.opening is not asyncio.current_task():
            channel.opening.cancel()
        channel.end(gone)

    # Actions.

    def dispatch(self, uri: str, action: Mapping[str, Any]) -> Dispatch:
        """Dispatch an action: it shows at once, and is sent as soon as the channel is followed.

        Raises:
            InvalidParams: the action is malformed.
            LocalProtocolError: clients may not dispatch it.
            Unsupported: the host's version cannot say it.
        """
        checked = validate_action(dict(action))
        if not client_may_dispatch(checked["type"]):
            raise LocalProtocolError(f"clients may not dispatch {checked['type']}")
        self.check_open()
        channel = self.channels.get(uri)
        if channel is not None and channel.opened.done() and not channel.has_state:
            raise LocalProtocolError(f"{uri} has no state, so nothing can be dispatched on it")
        dispatch = self.dispatches.add(uri, checked, self.clock.now())
        if channel is None:
            # Nobody follows it, so no more of a chat is needed than its newest turn.
            channel = self.follow(uri, NEWEST_TURN if kind_of(checked["type"]) == "chat" else WHOLE)
            dispatch.outcome.add_done_callback(partial(self._unfollow_after, channel))
        elif channel.has_state:
            self._show_and_send(channel, dispatch)
        return dispatch

    def _show_and_send(self, channel: Channel[Any], dispatch: Dispatch) -> None:
        try:
            told = channel.mirror.dispatch(dispatch.client_seq, dispatch.action, dispatch.now)
        except Untranslatable as error:
            self.dispatches.remove(dispatch)
            raise Unsupported(error.reason) from error
        channel.changed.send()
        if channel.takes_actions and self.link is not None:
            self._send(dispatch, told)

    def _unfollow_after(self, channel: Channel[Any], _: object) -> None:
        self.unfollow(channel)

    def send_unsent(self) -> None:
        """Send the actions that wait and whose channels are followed, in order."""
        for dispatch in self.dispatches.all():
            channel = self.channels.get(dispatch.channel)
            if dispatch.queued or channel is None:
                continue
            if channel.takes_actions:
                # Said anew: it may have been dispatched on another state, or in another version.
                told = self._predict(channel, dispatch)
                if told is not None:
                    self._send(dispatch, told)

    def fail(self, dispatch: Dispatch, why: str) -> None:
        """End an action that will not be answered any more."""
        self.dispatches.remove(dispatch)
        self._forget(dispatch)
        dispatch.fail(why)

    def _predict(self, channel: Channel[Any], dispatch: Dispatch) -> JsonObject | None:
        """Show an action on a channel's state and return it as it goes on the wire."""
        channel.mirror.forget(dispatch.client_seq)
        try:
            return channel.mirror.dispatch(dispatch.client_seq, dispatch.action, dispatch.now)
        except Untranslatable as error:
            self.fail(dispatch, error.reason)
            return None

    def _send(self, dispatch: Dispatch, told: JsonObject) -> None:
        assert self.link is not None
        params = {"channel": dispatch.channel, "clientSeq": dispatch.client_seq, "action": told}
        dispatch.queued = True
        self.link.notify("dispatchAction", params, partial(self._sent, dispatch))

    def _sent(self, dispatch: Dispatch) -> None:
        dispatch.sent_at = self.clock.monotonic()

    def _forget(self, dispatch: Dispatch) -> None:
        channel = self.channels.get(dispatch.channel)
        if channel is not None and channel.has_state and channel.mirror.forget(dispatch.client_seq):
            channel.changed.send()

    # Messages from the link.

    def on_action(self, envelope: JsonObject) -> None:
        """Apply an envelope to its channel, then resolve the action that it answers."""
        if not _is_envelope(envelope):
            log.info("the host sent an action that is no envelope")
            return
        self.high_water = max(self.high_water, envelope["serverSeq"])
        action = envelope["action"]
        unlisted = self._unlisted(action) if action["type"] == _LISTING_TERMINALS else ()
        channel = self.channels.get(envelope["channel"])
        if channel is not None:
            self._apply(channel, envelope)
        for terminal in unlisted:
            # It may have ended long ago, and can be read on; or it is gone.
            terminal.removed = "the terminal was removed"
            self.ensure_open(terminal, again=True)
        origin = envelope.get("origin")
        if isinstance(origin, Mapping) and origin.get("clientId") == self.client_id:
            told = cast("ActionEnvelope", envelope)
            answered = self.dispatches.answer(origin.get("clientSeq"), told)
            if answered is not None:
                self._forget(answered)
        if action["type"] in _LISTING_CHATS and envelope.get("rejectionReason") is None:
            self._on_chats(envelope["channel"], action)

    def _unlisted(self, action: JsonObject) -> list[Channel[Any]]:
        """Return the followed terminals that the host's list has and is about to have no more."""
        root = self.channels.get(ROOT)
        if root is None or not root.has_state:
            return []
        gone = _listed(root.mirror.raw.get("terminals")) - _listed(action.get("terminals"))
        return [self.channels[uri] for uri in gone if uri in self.channels]

    def _on_chats(self, session: str, action: JsonObject) -> None:
        """Take note that a session lost or gained a chat."""
        match action:
            case {"type": "session/chatRemoved", "chat": str(uri)} if uri in self.channels:
                # It may have moved to another session, and is followed on under the same name.
                channel = self.channels[uri]
                channel.removed = "the chat was removed"
                channel.owner = None if channel.owner == session else channel.owner
                self.ensure_open(channel, again=True)
            case {"type": "session/chatAdded", "summary": {"resource": str(uri)}}:
                if uri in self.channels:
                    self.channels[uri].owner = session

    def _apply(self, channel: Channel[Any], envelope: JsonObject) -> None:
        action = envelope["action"]
        failed = self._failed_turn(channel, action)
        try:
            received = channel.apply(envelope, self.clock.now())
        except RemoteProtocolError as error:
            log.warning("%s is read anew: %s", channel.uri, error)
            self.ensure_open(channel, again=True)
            return
        if received is not None and received.verdict == "stale":
            if channel.unproven:
                log.warning("%s is read anew: the host seems to count from the start", channel.uri)
                channel.unproven = False
                self.ensure_open(channel, again=True)
            return
        if action["type"] == "chat/turnStarted":
            self._note_turn(channel, action.get("turnId"))
        elif failed is not None and received is not None and received.verdict == "applied":
            self.note_resumed(channel, failed)

    def _failed_turn(self, channel: Channel[Any], action: JsonObject) -> JsonObject | None:
        """Return the turn that an action resumes, as it stands before it."""
        if action["type"] != "chat/turnResume" or not channel.has_state:
            return None
        turns = channel.mirror.raw.get("turns") or [{}]
        return turns[-1] if turns[-1].get("id") == action.get("turnId") else None

    def note_resumed(self, channel: Channel[Any], failed: Mapping[str, Any]) -> None:
        """Record that a failed turn runs again: what it took before counts, the pause does not."""
        took = failed.get("duration") or 0
        channel.turn_seen = (failed["id"], self.clock.monotonic() - took / 1000)

    def _note_turn(self, channel: Channel[Any], turn_id: Any) -> None:
        if channel.turn_seen is None or channel.turn_seen[0] != turn_id:
            channel.turn_seen = (turn_id, self.clock.monotonic())

    def on_notification(self, method: str, params: JsonObject) -> None:
        """Translate any other notification to the newest version and publish it."""
        if not _is_usable(method, params):
            log.info("the host sent a malformed %s", method)
            return
        canonical = translator(self.version).notification_up(method, params)
        if not isinstance(canonical, dict):
            return
        if method == "auth/required":
            canonical = self._described(canonical)
        if method == "root/sessionRemoved":
            self._session_gone(str(canonical.get("session")))
        self.notifications.publish((method, canonical))
        for listener in tuple(self.on_notice):
            listener(method, canonical)

    def _described(self, params: JsonObject) -> JsonObject:
        """Describe a resource that an older host only names, as the agent that needs it does."""
        named = params.get("resource")
        root = self.channels.get(ROOT)
        if not isinstance(named, dict) or set(named) != {"resource"}:
            return params
        if root is None or not root.has_state:
            return params
        for agent in root.confirmed["agents"]:
            for described in agent.get("protectedResources") or ():
                if described["resource"] == named["resource"]:
                    return {**params, "resource": described}
        return params

    def on_tick(self, link: HostLink) -> None:
        """Give up on actions that the host has not answered, once it has shown to be there."""
        horizon = self.clock.monotonic() - ACTION_PATIENCE
        late = [d for d in self.dispatches.all() if d.sent_at is not None and d.sent_at <= horizon]
        if late:
            link.call("ping", {}, lambda _: self._give_up_on(late))

    def _give_up_on(self, late: list[Dispatch]) -> None:
        for dispatch in late:
            if not dispatch.done:
                self.fail(dispatch, "the host did not answer it")

    async def serve(self, method: str, params: JsonObject) -> Any:
        """Serve a request of the host."""
        return await self.resources.serve(method, params, self.version)

    def _session_gone(self, session: str) -> None:
        channel = self.channels.get(session)
        chats = channel.state["chats"] if channel is not None and channel.kind == "session" else ()
        owned = [found.uri for found in self.channels.values() if found.owner == session]
        uris = [session, annotations_uri(session), *owned]
        uris += [chat["resource"] for chat in chats]
        self._channels_gone(uris, "the session was removed")

    def _channels_gone(self, uris: list[str], reason: str) -> None:
        for uri in uris:
            channel = self.channels.get(uri)
            if channel is not None:
                self.channel_gone(channel, reason)

    # Called by the supervisor.

    def link_lost(self) -> None:
        """Handle the loss of the link."""
        self.link = None
        for channel in self.channels.values():
            channel.suspend()
        for dispatch in self.dispatches.all():
            if dispatch.sent_at is None:
                # What a link had not sent will not be sent by it.
                dispatch.queued = False
        self.dispatches.changed.send()

    def close(self, error: Exception | None) -> None:
        """Fail all pending actions and end all channels."""
        self.link_lost()
        reason = str(error) if error is not None else "the client was closed"
        for dispatch in self.dispatches.all():
            self.fail(dispatch, reason)
        for channel in list(self.channels.values()):
            self._forget_channel(channel, ChannelGone(channel.uri, reason))
        self.notifications.close(error)


def _is_envelope(envelope: Any) -> bool:
    return (
        isinstance(envelope, dict)
        and isinstance(envelope.get("channel"), str)
        and isinstance(envelope.get("serverSeq"), int)
        and isinstance(envelope.get("action"), dict)
        and isinstance(envelope["action"].get("type"), str)
    )


def _listed(terminals: Any) -> set[str]:
    found = terminals if isinstance(terminals, list) else []
    return {str(info.get("resource")) for info in found if isinstance(info, dict)}


def _is_usable(method: str, params: JsonObject) -> bool:
    """Return whether a notification has the fields that the session list reads."""
    match method, params:
        case "root/sessionAdded", {"summary": {"resource": str()}}:
            return True
        case "root/sessionRemoved", {"session": str()}:
            return True
        case "root/sessionSummaryChanged", {"session": str(), "changes": {}}:
            return True
    return not method.startswith("root/session")
