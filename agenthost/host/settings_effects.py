"""The host's own settings take effect on those who do not ask for them whenever they matter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agenthost.host.channels.root import announce_agents, with_first

if TYPE_CHECKING:
    from agenthost.host.core import HostCore


def take_up_settings(core: HostCore) -> None:
    """Let the settings take effect as they are, and whenever one is changed."""
    config, turns = core.config, core.turns

    def wait_so_long(_: object) -> None:
        turns.prompt_timeout = config.seconds("promptTimeout")

    def tell_of_agents(_: object) -> None:
        core.tasks.start(announce_agents(core), "announce agents")

    def order_models(models: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
        return with_first(models, "id", config.text("defaultModel"))

    config.on_change("promptTimeout", wait_so_long)
    wait_so_long(None)
    # Clients take the first agent, and of its models the first, as the default.
    config.on_change("defaultAgent", tell_of_agents)
    config.on_change("defaultModel", tell_of_agents)
    turns.order_models = order_models
