"""What the params of every request share: a channel, and room for what a peer wants to add.

Types only; notifications and dispatched actions have no ``_meta`` of their own.
"""

from typing import NotRequired

from typing_extensions import TypedDict

from agenthost.protocol.common import JsonObject
from agenthost.protocol.schema.scalars import CatalogueChannel, Channel, RootChannel


class RequestParams(TypedDict):
    """What the params of all requests share: free-form data, of which unknown keys are ignored."""

    _meta: NotRequired[JsonObject]


class BaseParams(RequestParams):
    """Params of a request that concerns a channel."""

    channel: Channel


class RootParams(RequestParams):
    """Params of a request that concerns the host as a whole."""

    channel: RootChannel


class CatalogueParams(RequestParams):
    """Params of a request that concerns the automations."""

    channel: CatalogueChannel
