"""A session as a host drives it: chats, clients, customizations, prompts, directories."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from agenthost.protocol.reduction import reduce_canonical
from tests.simulation import nodes
from tests.simulation.generate import Gen, Json, Random, every, few, node, one_of

NOW = "2026-01-01T00:00:02.000Z"
CHATS = ("ahp-chat:/1", "ahp-chat:/2", "ahp-chat:/3")


class SessionSimulation:
    """Draws actions on a session with several chats, clients, customizations and prompts."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self.state = self._initial()

    def run(self, length: int) -> Iterator[Json]:
        """Draw actions, following the state."""
        moves: list[Callable[[], Json]] = [
            *(self._plain, self._chats, self._metadata, self._clients, self._directories),
            *(self._reordered, self._directories),
            *(self._input_needed, self._customizations, self._toggles, self._servers) * 2,
        ]
        for _ in range(length):
            action = self._random.choice(moves)()
            self.state = reduce_canonical("session", self.state, action, NOW)
            yield action

    def _initial(self) -> Json:
        fixed = {"provider": "demo", "title": "T", "lifecycle": "creating"}
        lists: Json = {
            "activeClients": few(nodes.ACTIVE_CLIENT, 1),
            "chats": every(*map(nodes.chat_summary, CHATS[:2])),
            "customizations": every(nodes.plugin("plugin"), nodes.mcp_server("mcp")),
        }
        config = node({"schema": nodes.CONFIG_SCHEMA, "values": {"a": 1}})
        run = {"automation": "ahp-automation:/1", "run": "ahp-automation-run:/1"}
        return self._draw(
            node(
                {**fixed, **lists, "status": one_of(1, 8, 33, 72)},
                workingDirectories=nodes.DIRECTORIES,
                config=config,
                origin={"kind": "automation", **run},
            )
        )

    def _draw(self, generator: Gen) -> Json:
        drawn: Json = generator(self._random)
        return drawn

    def _action(self, action: str, required: dict[str, Any], **optional: Any) -> Json:
        return self._draw(node({"type": f"session/{action}", **required}, **optional))

    def _plain(self) -> Json:
        error = {"errorType": "e", "message": "m"}
        return self._draw(
            one_of(
                node({"type": "session/ready"}),
                node({"type": "session/creationFailed", "error": error}),
                node({"type": "session/titleChanged", "title": nodes.TEXT}),
                node({"type": "session/isReadChanged", "isRead": nodes.FLAG}),
                node({"type": "session/isArchivedChanged", "isArchived": nodes.FLAG}),
                node({"type": "session/activityChanged"}, activity=nodes.TEXT),
            )
        )

    def _metadata(self) -> Json:
        changed = {"config": one_of(*[{}, {"a": None}, {"b": [1]}])}
        return self._draw(
            one_of(
                node({"type": "session/configChanged", **changed}, replace=nodes.FLAG),
                node({"type": "session/metaChanged"}, _meta=nodes.META),
                node({"type": "session/serverToolsChanged", "tools": few(nodes.TOOL)}),
                node({"type": "session/changesetsChanged"}, changesets=few(nodes.CHANGESET)),
            )
        )

    def _chats(self) -> Json:
        chat = self._random.choice(CHATS)
        return self._draw(
            one_of(
                node({"type": "session/chatAdded", "summary": nodes.chat_summary(chat)}),
                node({"type": "session/chatUpdated", "chat": chat, "changes": nodes.CHAT_CHANGES}),
                node({"type": "session/chatRemoved", "chat": chat}),
                node({"type": "session/defaultChatChanged"}, defaultChat=chat),
            )
        )

    def _reordered(self) -> Json:
        order = [chat["resource"] for chat in self.state["chats"]]
        self._random.shuffle(order)
        # A host says them all; of anything else nothing comes.
        partial = order[1:] if self._random.random() < 0.2 else order
        return {"type": "session/chatsReordered", "chats": partial}

    def _clients(self) -> Json:
        client = {"activeClient": nodes.ACTIVE_CLIENT}
        return self._draw(
            one_of(
                node({"type": "session/activeClientSet", **client}),
                node({"type": "session/activeClientRemoved", "clientId": "c1"}),
            )
        )

    def _directories(self) -> Json:
        known = self.state.get("workingDirectories", [])
        directory = {"directory": one_of(nodes.DIRECTORY, *known)}
        replaced = {**directory, "replacement": nodes.DIRECTORY}
        return self._draw(
            one_of(
                node({"type": "session/workingDirectorySet", **directory}),
                node({"type": "session/workingDirectoryRemoved", **directory}),
                node({"type": "session/workingDirectoryReplaced", **replaced}),
            )
        )

    def _input_needed(self) -> Json:
        listed = [entry["id"] for entry in self.state.get("inputNeeded", [])]
        if listed and self._random.random() < 0.5:
            return self._action("inputNeededRemoved", {"id": one_of(*listed, "none")})
        return self._action("inputNeededSet", {"request": _INPUT_NEEDED})

    def _customizations(self) -> Json:
        ids = one_of("plugin", "folder", "mcp", *_child_ids(self.state), "none")
        changed = {"customizations": nodes.CUSTOMIZATIONS}
        return self._draw(
            one_of(
                node({"type": "session/customizationsChanged", **changed}),
                node(
                    {
                        "type": "session/customizationUpdated",
                        "customization": nodes.CUSTOMIZATION,
                    }
                ),
                node({"type": "session/customizationRemoved", "id": ids}),
            )
        )

    def _toggles(self) -> Json:
        entry = self._random.choice(["plugin", "folder", "mcp", *_child_ids(self.state) * 2])
        return self._action("customizationToggled", {"id": entry, "enablement": nodes.ENABLEMENT})

    def _servers(self) -> Json:
        ids = self._random.choice(["mcp", "plugin/mcp", "folder/mcp", "plugin"])
        state = {"type": "session/mcpServerStateChanged", "id": ids, "state": nodes.MCP_STATE}
        return self._draw(
            one_of(
                node(state, channel="mcp:/2"),
                node({"type": "session/mcpServerStartRequested", "id": ids}),
                node({"type": "session/mcpServerStopRequested", "id": ids}),
                *[node({"type": "session/mcpServerBackgroundRequested", "id": ids})] * 3,
            )
        )


# Ids name the kind, as those of a host would: an entry does not change into another kind.
_INPUT_NEEDED = one_of(
    node(
        {
            "id": one_of("input-1", "input-2"),
            "kind": "chatInput",
            "chat": CHATS[0],
            "request": {"id": "r", "questions": []},
        }
    ),
    node(
        {
            "id": "confirm-1",
            "kind": "toolConfirmation",
            "chat": CHATS[0],
            "turnId": "t",
            "toolCall": nodes.PENDING_CALL,
        }
    ),
    node(
        {
            "id": "run-1",
            "kind": "toolClientExecution",
            "chat": CHATS[1],
            "turnId": "t",
            "clientId": "c1",
            "toolCall": nodes.RUNNING_CALL,
        }
    ),
    node(
        {
            "id": "auth-1",
            "kind": "toolAuthentication",
            "chat": CHATS[1],
            "turnId": "t",
            "toolCall": nodes.PAUSED_CALL,
        }
    ),
)


def _child_ids(state: Json) -> list[str]:
    return [
        child["id"]
        for entry in state.get("customizations", [])
        for child in entry.get("children", [])
    ]
