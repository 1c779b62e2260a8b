"""Where a conversation is, and how it works: agent, session, chat, model, mode, context."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agenthost.cli.format.customization_format import MOST_NAME, cell
from agenthost.cli.format.state_format import short_id
from agenthost.cli.format.terminal_text import one_line
from agenthost.cli.interactive.display import brought_lines, status_lines
from agenthost.client import Chat, Client, Session
from agenthost.client.usage import agent_of, context_use

Json = Mapping[str, Any]


def chat_location(
    client: Client,
    session: Session,
    chat: Chat,
    custom_agent: str = "",
    model: str | None = None,
) -> status_lines.ChatLocation:
    """Return what the status bar shows; ``model`` is the one that the next message asks for."""
    state, agent = session.state, agent_of(client, session)
    name = one_line(state["provider"] if agent is None else agent["displayName"])
    name = f"{name} › {custom_agent}" if custom_agent else name
    is_default = chat.uri == state.get("defaultChat") or len(state["chats"]) == 1
    modes = brought_lines.approval_modes(session.config_schema)
    used = context_use(chat.state, agent)
    return status_lines.ChatLocation(
        name,
        state["title"],
        short_id(session.uri),
        chat="" if is_default else one_line(chat.state["title"])[:20],
        approvals=brought_lines.approval_word(modes, session.config.get(brought_lines.APPROVALS)),
        model=_model_name(model or used.model, agent),
        tokens=used.tokens,
        share=used.share,
    )


def _model_name(id: str, agent: Json | None) -> str:
    """Return what people call a model."""
    models = [] if agent is None else agent["models"]
    name = next((model.get("name") for model in models if model["id"] == id), None)
    return cell(str(name or id), MOST_NAME)
