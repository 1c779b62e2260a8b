"""Which principal a client id belongs to: the first to use it keeps it.

A client id shows up in the origin of actions, in active clients and in claims, so using another
principal's would be speaking in its name. In memory: what survives a restart is kept by
whoever calls ``load``, and let go of when it is told that an id is forgotten.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping

from agenthost.host.trust.principals import Principal

MAX_CLIENT_ID = 256
"""Longer than any real client id (UUIDs, product names), short enough to keep many."""

MAX_PER_PRINCIPAL = 10_000
"""Beyond this a principal's least recently used id is forgotten; only its own ids can suffer."""


class ClientBindings:
    """Client id to principal name; tokens of one principal name share their ids."""

    def __init__(
        self,
        *,
        on_forgotten: Callable[[str], None] | None = None,
        per_principal: int = MAX_PER_PRINCIPAL,
    ) -> None:
        self._on_forgotten = on_forgotten
        self._per_principal = per_principal
        # Client id -> principal name.
        self._names: dict[str, str] = {}
        # Principal name -> its client ids, least recently used first.
        self._ids: dict[str, OrderedDict[str, None]] = {}

    def claim(self, client_id: str, principal: Principal) -> str | None:
        """Bind the id to the principal, or return why it may not be used."""
        if not client_id or len(client_id) > MAX_CLIENT_ID:
            return f"a clientId has 1 to {MAX_CLIENT_ID} characters"
        name = self._names.get(client_id)
        if name is None:
            self._bind(client_id, principal.name)
        elif name == principal.name:
            self._ids[name].move_to_end(client_id)
        else:
            # Whose it is stays unsaid: names of other principals are none of a stranger's business.
            return "this clientId belongs to another principal; use a clientId of your own"
        return None

    def load(self, bindings: Mapping[str, str]) -> None:
        """Take over stored bindings, client id to principal name; what is bound stays as it is."""
        for client_id, name in bindings.items():
            if client_id not in self._names:
                self._bind(client_id, name)

    def _bind(self, client_id: str, name: str) -> None:
        ids = self._ids.setdefault(name, OrderedDict())
        ids[client_id] = None
        self._names[client_id] = name
        if len(ids) > self._per_principal:
            oldest, _ = ids.popitem(last=False)
            del self._names[oldest]
            if self._on_forgotten is not None:
                self._on_forgotten(oldest)
