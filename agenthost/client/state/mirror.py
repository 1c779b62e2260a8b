"""Client-side copy of a channel: the confirmed state, and own pending actions on top of it.

Pure. Owns write-ahead reconciliation: an action shows at once, the host's order wins, a refusal
takes it back. Confirmed state is kept in the host's own protocol version and reduced with that
version's reducers, so it is exactly what the host has; callers see the newest version.
Knows no connection and no other channel: ``host_link`` and ``client_core`` do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from agenthost.client.state.pending_overlay import PendingOverlay
from agenthost.client.state.scrollback import Scrollback, cut
from agenthost.client.state.upgraded_state import UpgradedState
from agenthost.errors import RemoteProtocolError
from agenthost.protocol import NEWEST, reduce, translator
from agenthost.protocol.appending import AppendRun, append_key
from agenthost.protocol.json_edits import index_by
from agenthost.protocol.versions import Untranslatable, Whereabouts, touched_in

if TYPE_CHECKING:
    from agenthost.protocol.common import JsonObject
    from agenthost.protocol.reducer_registry import Kind

# What reducers raise when an action or a state does not have the shape they were promised.
_MISSHAPEN = (AttributeError, IndexError, KeyError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class Received:
    """The result of applying an envelope."""

    # Stale ones were seen before and count for nothing.
    verdict: Literal["stale", "applied", "rejected"]
    # Whether it answered an action of ours that was pending.
    own: bool = False


# What nearly all envelopes come to.
_APPLIED = Received("applied")


@dataclass(frozen=True, slots=True)
class _Pending:
    """An action of ours that the host has not answered."""

    # In the host's version, as it goes on the wire.
    action: JsonObject
    now: str


class Mirror:
    """The client-side copy of one channel's state."""

    def __init__(
        self,
        kind: Kind,
        version: str,
        state: Any,
        from_seq: int,
        *,
        client_id: str = "",
        session: str = "",
    ) -> None:
        """Start from a snapshot, whose state is in the form of ``version``."""
        self.kind = kind
        # The session that the channel belongs to, which older versions leave unsaid.
        self.around = Whereabouts(session=session)
        # The one whose actions may answer ours.
        self.client_id = client_id
        # Our unanswered actions in the order of their dispatch.
        self._pending: dict[int, _Pending] = {}
        # Of a terminal: how much of its output has come, and when it has to be cut.
        self.scrollback = Scrollback() if kind == "terminal" else None
        self.reset(state, from_seq, version=version)

    def reset(self, state: Any, from_seq: int, *, version: str | None = None) -> None:
        """Start over from a fresh snapshot; nothing is pending afterwards."""
        if version is not None:
            self.version = version
            self._upgraded = UpgradedState(self.kind, version, self.around)
        # The last serverSeq that counts; may go down when a host starts to count anew.
        self.seq = from_seq
        self._confirmed: Any = state
        if self.scrollback is not None:
            self.scrollback.restart()
        # Text that is folded into the state when somebody looks.
        self._run: AppendRun | None = None
        self._pending.clear()
        # The members of the state that pending actions touch, and maybe more; None for any.
        self._touched: frozenset[str] | None = frozenset()
        # The confirmed state with all pending actions on it, once somebody asked.
        self._predicted: PendingOverlay | None = None

    @property
    def raw(self) -> Any:
        """The confirmed state, in the host's version."""
        self._fold()
        return self._confirmed

    @property
    def confirmed(self) -> Any:
        """The state as the host has it."""
        return self._upgraded.state(self.raw)

    @property
    def state(self) -> Any:
        """The state as the host has it with our pending actions on top: what to show."""
        return self._upgraded.state(self._optimistic())

    @property
    def pending(self) -> tuple[int, ...]:
        """The numbers of our unanswered actions, oldest first."""
        return tuple(self._pending)

    def dispatch(self, client_seq: int, action: Mapping[str, Any], now: str) -> JsonObject:
        """Show an action of ours from now on; return it as it must be sent to this host.

        Raises:
            Untranslatable: the host's version cannot say it; then nothing has changed.
        """
        state = self._optimistic()
        told = self._for_host(dict(action), now)
        members = touched_in(self.version, told["type"])
        others = self._touched if self._pending else frozenset()
        self._touched = None if members is None or others is None else others | members
        self._pending[client_seq] = _Pending(told, now)
        after = self._predict(state, told, now, self.version)
        self._predicted = PendingOverlay(self._confirmed, after, self._touched)
        return told

    def receive(self, envelope: Mapping[str, Any], now: str) -> Received:
        """Apply an envelope of this channel, whoever's action it carries.

        Raises:
            RemoteProtocolError: the action cannot be applied to this state, so the mirror needs
                a fresh snapshot.
        """
        seq = envelope["serverSeq"]
        if seq <= self.seq:
            return Received("stale")
        self.seq = seq
        origin = envelope.get("origin")
        own = (
            isinstance(origin, Mapping)
            and origin.get("clientId") == self.client_id
            and self.forget(origin.get("clientSeq"))
        )
        if envelope.get("rejectionReason") is not None:
            # Nobody applies it, whoever sent it; ours is not shown any more.
            return Received("rejected", own)
        self._apply_action(envelope["action"], now)
        if self.scrollback is not None and self.scrollback.take(envelope["action"]):
            self._fold()
            self._confirmed = cut(self._confirmed)
        return Received("applied", own) if own else _APPLIED

    def forget(self, client_seq: Any) -> bool:
        """Stop showing one pending action; False when it was not pending."""
        if self._pending.pop(client_seq, None) is None:
            return False
        self._predicted = None
        return True

    def load_page(self, turns: list[JsonObject], *, has_more: bool) -> None:
        """Put a page of older turns, in the host's version, in front of a chat's turns.

        For versions that page into the answer of ``fetchTurns`` instead of into the state.
        """
        state = self.raw
        older = [turn for turn in turns if index_by(state["turns"], "id", turn["id"]) is None]
        self._confirmed = {**state, "turns": [*older, *state["turns"]]}
        self._predicted = None
        self._upgraded.set_exhausted(exhausted=not has_more)

    def _for_host(self, action: JsonObject, now: str) -> JsonObject:
        """Translate an action to the host's version."""
        if self.version == NEWEST:
            return action
        before = self.state
        after = self._predict(before, action, now, NEWEST)
        if after is before:
            # What changes nothing here may well change something where it arrives.
            after = dict(before)
        ladder = translator(self.version)
        said = ladder.action_down(self.kind, before, action, after, sender="client")
        if not said:
            raise Untranslatable(f"protocol {self.version} has no {action['type']} for this")
        told: JsonObject = said[0]
        return told

    def _optimistic(self) -> Any:
        confirmed = self.raw
        if not self._pending:
            return confirmed
        if self._predicted is None or not self._predicted.moved_to(confirmed):
            state = confirmed
            for mine in self._pending.values():
                state = self._predict(state, mine.action, mine.now, self.version)
            self._predicted = PendingOverlay(confirmed, state, self._touched)
        return self._predicted.result

    def _predict(self, state: Any, action: JsonObject, now: str, version: str) -> Any:
        try:
            return reduce(self.kind, state, action, now=now, version=version)
        except _MISSHAPEN:
            # The host has sent a state that no action fits on; ours shows once it has answered.
            return state

    def _apply_action(self, action: JsonObject, now: str) -> None:
        key = append_key(action)
        run = self._run
        if key is not None and run is not None and run.key == key:
            run.text.append(action[run.field])
            return
        self._fold()
        self._run = None
        self._reduce(action, now)
        if key is not None:
            self._run = AppendRun(key, action, now)

    def _fold(self) -> None:
        run = self._run
        if run is not None and run.text:
            self._reduce(run.folded(), run.now)

    def _reduce(self, action: JsonObject, now: str) -> None:
        try:
            self._confirmed = reduce(
                self.kind, self._confirmed, action, now=now, version=self.version
            )
        except _MISSHAPEN as error:
            raise RemoteProtocolError(f"{action.get('type')} does not fit the state") from error
