"""The front's side of links: opens one to the node that owns something."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import orjson

from agenthost.cluster.links.link_end import LinkEnd
from agenthost.cluster.realm import RealmUnreachable
from agenthost.tasks import Tasks

if TYPE_CHECKING:
    from agenthost.cluster.realm import RealmLink
    from agenthost.host.trust.principals import Principal
    from agenthost.transport import Transport

OPEN = "open"
_PATIENCE = 3.0


def owner_subject(node: str, link: str) -> str:
    """Return where an owner hears what a link brings."""
    return f"links.owner.{node}.{link}"


def front_subject(link: str) -> str:
    """Return where a front hears what a link brings."""
    return f"links.front.{link}"


async def open_link(
    link: RealmLink,
    to: str,
    principal: Principal,
    purpose: str,
    reached: Callable[[int], Awaitable[None]],
) -> Transport:
    """Open a link to a node.

    What the owner sends waits for ``reached``: that this side has read the log as far as the
    owner had.

    Raises:
        RealmUnreachable: the node does not answer, or takes up no more links.
    """
    id = secrets.token_hex(8)
    tasks = Tasks()

    def ended(_: LinkEnd) -> None:
        tasks.start(subscription.close(), f"the end of link {id}")

    subscription = await link.subscribe(
        front_subject(id), lambda _subject, data, _reply: end.deliver(data)
    )
    end = LinkEnd(
        f"link:{to}/{id}",
        lambda data: link.publish(owner_subject(to, id), data),
        reached=reached,
        on_end=ended,
    )
    asked = {
        "id": id,
        "from": link.name,
        "name": principal.name,
        "role": principal.role,
        "purpose": purpose,
    }
    try:
        answer = await link.request(owner_subject(to, OPEN), orjson.dumps(asked), _PATIENCE)
        refused = orjson.loads(answer).get("refused")
        if refused:
            raise RealmUnreachable(f"{to} takes no link up: {refused}")
    except RealmUnreachable as error:
        await end.close()
        raise RealmUnreachable(f"the node {to} does not answer: {error}") from None
    except BaseException:
        await end.close()
        raise
    return end
