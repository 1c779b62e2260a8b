"""How this session works: /model, /mode, /set."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from agenthost.cli.exit_codes import CommandFailed
from agenthost.cli.format.customization_format import MOST_NAME, cell
from agenthost.cli.format.terminal_text import Ink
from agenthost.cli.interactive.chat_actions import failure_line
from agenthost.cli.interactive.commands.chat_command import ChatCommand
from agenthost.cli.interactive.commands.settings import (
    can_change,
    known_key,
    properties_of,
    settings_from,
)
from agenthost.cli.interactive.commands.settings_table import (
    meaning_of,
    settings_table,
    value_text,
)
from agenthost.cli.interactive.display import brought_lines, listings
from agenthost.cli.interactive.display.styled_text import EMPTY, line
from agenthost.client.usage import agent_of
from agenthost.errors import AgentHostError

if TYPE_CHECKING:
    from agenthost.cli.interactive.conversation import Conversation

Json = Mapping[str, Any]

_AGENTS_CHOICE = "default"
# Choices of one setting that are offered for completion.
_MOST_OFFERED = 40


# The model.


def _model(at: Conversation, name: str) -> None:
    """List the models, or choose the one that the next messages ask for."""
    models = _models(at)
    if not name:
        at.note(*listings.models_lines(models, at.actions.model, at.screen.size[0]))
        return
    if name == _AGENTS_CHOICE:
        at.actions.model = None
        at.note(line(("dim", "· the agent chooses the model from now on")))
        return
    chosen = _find_model(models, name)
    if chosen is None:
        close = get_close_matches(name, [str(model["id"]) for model in models], 1)
        hint = f"did you mean {cell(close[0], MOST_NAME)}?" if close else "/model lists them"
        at.note(failure_line("the model stays", f"there is no {cell(name, MOST_NAME)!r}; {hint}"))
        return
    at.actions.model = chosen
    at.note(line(("good", "✓ "), f"{cell(chosen, MOST_NAME)} answers from the next message on"))


def _models(at: Conversation) -> Sequence[Json]:
    agent = agent_of(at.client, at.session)
    return [] if agent is None else agent["models"]


def _find_model(models: Sequence[Json], name: str) -> str | None:
    """Return the id that a typed name means: an id, a name, or a part of only one."""
    if not models:
        # An agent that announces none knows for itself what a name means.
        return name
    word = name.casefold()
    told = [(str(model["id"]), str(model.get("name", ""))) for model in models]
    for known in told:
        if word in (known[0].casefold(), known[1].casefold()):
            return known[0]
    found = [id for id, title in told if word in id.casefold() or word in title.casefold()]
    return found[0] if len(found) == 1 else None


def _model_names(at: Conversation) -> list[str]:
    return [*(str(model["id"]) for model in _models(at)), _AGENTS_CHOICE]


# The approval mode.


def _mode(at: Conversation, word: str) -> None:
    """List the approval modes, or change the session's."""
    modes = brought_lines.approval_modes(at.session.config_schema)
    current = at.session.config.get(brought_lines.APPROVALS)
    if not word or not modes:
        at.note(*brought_lines.approvals_lines(modes, current))
        return
    mode = brought_lines.approval_mode(modes, word)
    if mode is None:
        at.hint(f"/mode {'|'.join(name for name, _ in modes)}")
        return
    if _configure(at, {brought_lines.APPROVALS: mode}, "the mode stays"):
        at.note(line(("dim", f"· {dict(modes)[mode].lower()} from now on")))


def _modes(at: Conversation) -> list[str]:
    return [mode for mode, _ in brought_lines.approval_modes(at.session.config_schema)]


# All settings.


def _set(at: Conversation, words: str) -> None:
    """List the session's settings, tell of one, or change it."""
    config = at.session.state.get("config")
    if config is None:
        at.note(line(("dim", "· this session has no settings")))
        return
    name, _, text = words.partition(" ")
    if not name:
        rows = settings_table(config, at.screen.size[0] - 2, Ink(False), of_session=True)
        hint = "/set KEY [VALUE] shows or changes one"
        at.note(EMPTY, *(line(f"  {row}") for row in rows), line(("dim", f"  {hint}")))
        return
    try:
        if not text.strip():
            _tell_setting(at, config, known_key(name, config["schema"]["properties"]))
            return
        values = settings_from([(name, text.strip())], config["schema"], existing=True)
    except CommandFailed as error:
        at.note(failure_line("nothing was set", str(error)))
        return
    if _configure(at, values, "the setting stays"):
        ((key, value),) = values.items()
        told = cell(value if isinstance(value, str) else json.dumps(value), MOST_NAME)
        at.note(line(("good", "✓ "), f"{cell(key, MOST_NAME)} is {told} from now on"))


def _tell_setting(at: Conversation, config: Json, key: str) -> None:
    meaning = meaning_of(config["schema"]["properties"][key])
    at.note(
        EMPTY,
        line("  ", ("key", cell(key, MOST_NAME)), f"  {value_text(config, key)}"),
        *(line(("dim", f"    {row}")) for row in meaning),
    )


def _setting_words(at: Conversation) -> list[str]:
    words: list[str] = []
    for key, schema in properties_of(at.session.config_schema).items():
        words.append(key)
        if can_change(schema):
            words += [f"{key} {choice}" for choice in _choices(schema)]
    return words


def _choices(schema: Json) -> list[str]:
    if schema.get("type") == "boolean":
        return ["true", "false"]
    choices = list(schema.get("enum") or ())[:_MOST_OFFERED]
    return [choice if isinstance(choice, str) else json.dumps(choice) for choice in choices]


def _configure(at: Conversation, values: Json, failed: str) -> bool:
    """Change settings; return whether the host was asked to."""
    try:
        changed = at.session.configure(values)
    except AgentHostError as error:
        at.note(failure_line(failed, cell(str(error))))
        return False
    at.actions.report_failure(changed, failed)
    return True


COMMANDS = (
    ChatCommand(
        "model",
        "[ID]",
        "the models; or let one answer from the next message on",
        _model,
        _model_names,
    ),
    ChatCommand(
        "mode",
        "[MODE]",
        "what goes ahead without asking; also during a turn",
        _mode,
        _modes,
    ),
    ChatCommand(
        "set", "[KEY [VALUE]]", "the settings of this session; or change one", _set, _setting_words
    ),
)
