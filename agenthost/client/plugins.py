"""A plugin that this client brings to a session: what is announced of it, and its files.

The host reads the files from this client as it needs them, and forgets the plugin some time after
the client has left. What a plugin may hold is in docs/customizations.md.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote

from agenthost.client.resources import MemoryResources

if TYPE_CHECKING:
    from agenthost.client.state.client_core import ClientCore
    from agenthost.client.tools import ClientTools
    from agenthost.protocol.common import JsonObject

PluginFiles = Mapping[str, str | bytes]
"""A plugin's files by their paths inside of it, with slashes: ``skills/tidy/SKILL.md``."""


async def publish_plugin(
    core: ClientCore,
    tools: ClientTools,
    session: str,
    name: str,
    files: PluginFiles,
    *,
    version: str | None,
    uri: str | None,
) -> Callable[[], None]:
    """Serve a plugin's files and announce it to a session; return what ends both."""
    root = (uri or plugin_uri(core.client_id, name)).rstrip("/")
    stop_serving = core.resources.offer(root, plugin_resources(root, files))
    try:
        unpublish = await tools.publish(session, plugin_entry(root, name, files, version))
    except BaseException:
        stop_serving()
        raise

    def take_back() -> None:
        unpublish()
        stop_serving()

    return take_back


def plugin_uri(client_id: str, name: str) -> str:
    """Return the URI that a plugin of a client goes by where nobody chose another."""
    return f"agenthost-plugin://{quote(client_id, safe='')}/{quote(name, safe='')}"


def plugin_entry(uri: str, name: str, files: PluginFiles, version: str | None) -> JsonObject:
    """Return what a session is told of a plugin; equal files have an equal ``nonce``."""
    entry: JsonObject = {"type": "plugin", "id": uri, "uri": uri, "name": name}
    if version is not None:
        entry["version"] = version
    return {**entry, "nonce": _digest(files)}


def plugin_resources(uri: str, files: PluginFiles) -> MemoryResources:
    """Return what serves a plugin's files to the host.

    Raises:
        ValueError: a path leads out of the plugin, or is none.
    """
    for path in files:
        if not path or path.startswith("/") or {"", ".", ".."} & set(path.split("/")):
            raise ValueError(f"{path!r} is no path inside of a plugin")
    return MemoryResources({f"{uri}/{quote(path)}": content for path, content in files.items()})


def _digest(files: PluginFiles) -> str:
    digest = hashlib.sha256()
    for path, content in sorted(files.items()):
        data = content.encode() if isinstance(content, str) else content
        for part in (path.encode(), data):
            # With its length in front, so that no two different plugins can read the same.
            digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()[:32]
