"""The customizations that a turn is given: instructions, skills, prompts, custom agents, rules.

Values and one Protocol. Where they were found, who switched them on and which texts they have is
the host's affair; an agent that takes no notice of them needs none of this.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from agenthost.agents.api import AgentError


@dataclass(frozen=True, slots=True)
class Skill:
    """Instructions for one sort of task, which are loaded when it comes up."""

    # The id of the customization in the session's state.
    id: str
    # As people and models name it; that of a plugin is ``plugin:name``.
    name: str
    description: str
    uri: str
    # Whether a model may load it by itself, and whether people may begin a message with its name.
    model_may_invoke: bool = True
    user_may_invoke: bool = True


@dataclass(frozen=True, slots=True)
class Prompt:
    """A text that people begin a message with by its name."""

    id: str
    name: str
    description: str
    uri: str
    # What it is to be answered with, where it says so; no tools for any.
    model: str | None = None
    tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CustomAgent:
    """An agent that people wrote: a system prompt, and the model and tools that it works with."""

    id: str
    name: str
    description: str
    uri: str
    # Its system prompt.
    instructions: str
    model: str | None = None
    # The only tools that it uses; empty for any.
    tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GlobRule:
    """Instructions that apply to some files only: they are listed, and read when they matter."""

    id: str
    name: str
    description: str
    uri: str
    # Where it lies: a path of this machine if there is one, else its URI.
    path: str
    globs: tuple[str, ...]


class TurnCustomizations(Protocol):
    """What is switched on in a session when a turn of it starts; it stays so until the turn ends.

    Only ``load`` is awaited, on the loop of whoever was given it.
    """

    @property
    def instructions(self) -> str:
        """What always applies, in one text; empty if there is none."""
        ...

    @property
    def skills(self) -> Sequence[Skill]:
        """The skills to be loaded on demand."""
        ...

    @property
    def prompts(self) -> Sequence[Prompt]:
        """The prompts that messages may begin with."""
        ...

    @property
    def agent(self) -> CustomAgent | None:
        """The custom agent that the message chose."""
        ...

    @property
    def rules(self) -> Sequence[GlobRule]:
        """The instructions that apply to some files only."""
        ...

    async def load(self, item: Skill | Prompt | GlobRule, file: str | None = None) -> str:
        """Return the text of something listed here, or of another file of a skill's folder.

        Raises:
            AgentError: it cannot be read; the message says why.
        """
        ...


class NoCustomizations:
    """The customizations of a turn for which nobody brought any."""

    instructions = ""
    skills: Sequence[Skill] = ()
    prompts: Sequence[Prompt] = ()
    agent: CustomAgent | None = None
    rules: Sequence[GlobRule] = ()

    async def load(self, item: Skill | Prompt | GlobRule, file: str | None = None) -> str:
        """Refuse, for there is nothing."""
        raise AgentError(f"there is no {item.name} here", "noCustomization")


NO_CUSTOMIZATIONS: TurnCustomizations = NoCustomizations()
