"""How a session works, in a conversation with a real host: /model, /mode, /set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agenthost.agents import Agent
from agenthost.agents.common_settings import COMMON_SETTINGS
from agenthost.agents.turn import Turn
from agenthost.cli.interactive.commands.registry import COMMANDS
from tests.cli.interactive.test_conversation import Talk, talking


class Chooser(Agent):
    """Has models and settings, and tells what it was asked with."""

    provider, display_name = "chooser", "Chooser"
    models = (
        {"id": "big-1", "provider": "chooser", "name": "Big One", "maxContextWindow": 1000},
        {"id": "small-1", "provider": "chooser", "name": "Small One"},
    )

    def config_schema(
        self, values: Mapping[str, Any], working_directory: str | None = None
    ) -> dict[str, Any]:
        """Have the approval modes, a number and something that stays."""
        own = {
            "steps": {"type": "number", "title": "Steps", "default": 5, "sessionMutable": True},
            "flavour": {"type": "string", "title": "Flavour", "default": "plain"},
        }
        return {"type": "object", "properties": {**COMMON_SETTINGS, **own}}

    async def run(self, turn: Turn) -> None:
        """Answer."""
        await turn.report_usage({"inputTokens": 300, "outputTokens": 10, "model": "big-1"})
        await turn.write(f"I am {turn.model}, in {turn.config.get('steps')} steps.")


async def shown(talk: Talk, *texts: str) -> None:
    await talk.until(lambda: all(text in talk.text for text in texts))


async def test_a_model_answers_from_the_next_message_on() -> None:
    async with talking(Chooser()) as talk:
        talk.at.on_submit("/model")
        await shown(talk, "Big One", "1.0k tokens", "default goes back")
        talk.at.on_submit("/model bigg-1")
        await shown(talk, "the model stays: there is no 'bigg-1'; did you mean big-1?")
        talk.at.on_submit("/model one")
        await shown(talk, "there is no 'one'; /model lists them")
        talk.at.on_submit("/model SMALL")
        await shown(talk, "small-1 answers from the next message on", "Chooser · Small One")
        talk.at.on_submit("hello")
        await shown(talk, "I am small-1", "310 tokens · 31 % of context")
        talk.at.on_submit("/model default")
        await shown(talk, "the agent chooses the model from now on")
        assert talk.at.actions.model is None


async def test_the_approval_mode_is_changed_by_either_name_and_stays_in_sight() -> None:
    async with talking(Chooser()) as talk:
        values = talk.at.session.channel
        talk.at.on_submit("/mode")
        await shown(talk, "Ask first", "Allow everything", "/mode MODE changes it")
        assert "allow edits" not in talk.text
        talk.at.on_submit("/mode edits")
        await shown(talk, "allow edits from now on", "Chooser · allow edits")
        await talk.until(lambda: values.confirmed["config"]["values"]["autoApprove"] == "edits")
        talk.at.on_submit("/approvals ask")
        await talk.until(lambda: values.confirmed["config"]["values"]["autoApprove"] == "default")
        talk.at.on_submit("/mode perhaps")
        await shown(talk, "/mode default|edits|autoApprove")


async def test_settings_are_listed_told_and_changed_and_what_is_wrong_is_not_sent() -> None:
    async with talking(Chooser()) as talk:
        talk.at.on_submit("/set")
        await shown(
            talk,
            "flavour",
            "Flavour (decided at the start)",
            "/set KEY [VALUE] shows or changes one",
        )
        talk.at.on_submit("/set autoapprove")
        await shown(talk, "Whether edits and commands ask first", "edits  Allow edits")
        for typed, told in (
            ("/set stepz 3", "there is no setting 'stepz'; did you mean steps?"),
            ("/set steps many", "steps is a number, not 'many'"),
            ("/set flavour hot", "flavour cannot be changed: it was decided at the start"),
            ("/set autoApprove sometimes", "autoApprove is one of default, edits, autoApprove"),
        ):
            talk.at.on_submit(typed)
            await shown(talk, f"nothing was set: {told}")
        talk.at.on_submit("/set STEPS 3")
        await shown(talk, "steps is 3 from now on")
        talk.at.on_submit("go")
        await shown(talk, "in 3 steps.")


async def test_what_may_follow_is_known_for_completion() -> None:
    async with talking(Chooser()) as talk:
        words = {name: list(COMMANDS[name].words(talk.at)) for name in ("model", "mode", "set")}
        assert words["model"] == ["big-1", "small-1", "default"]
        assert words["mode"] == ["default", "edits", "autoApprove"]
        assert {"steps", "autoApprove", "autoApprove edits", "flavour"} <= {*words["set"]}
