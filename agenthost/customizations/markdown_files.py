"""Makes a customization of a Markdown file: a rule, a skill, a prompt or a custom agent.

Knows what the front matter of each kind says, in the spellings of the editors and agents that came
before; not where such files lie.
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Literal, TypeAlias

from msgspec import Struct

from agenthost.customizations.fields import (
    LONGEST_DESCRIPTION,
    LONGEST_NAME,
    BadField,
    flag_from,
    name_from,
    plain,
    text_from,
    words_from,
)
from agenthost.customizations.front_matter import (
    BadFrontMatter,
    parse_front_matter,
    split_front_matter,
)
from agenthost.customizations.reading import (
    ReadFile,
    UnreadableCustomization,
    asked_read,
    decoded,
    path_inside,
    why_unreadable,
)
from agenthost.customizations.types import FoundCustomization, Kind, Tree
from agenthost.errors import AgentHostError, shortened
from agenthost.workspace.globs import BadGlob, Globs

# A description that is made from the text, if the file gives none.
_LONGEST_EXCERPT = 200
_LONGEST_MODEL = 200
# Endings that say what a file is and are no part of its name; the longer ones first.
_ENDINGS = (
    ".instructions.md", ".chatmode.md", ".prompt.md", ".agent.md", ".mdc", ".md",
)  # fmt: skip
# Fields that name the files a rule is for: in VS Code, Cursor and Claude Code.
_GLOB_FIELDS = ("applyTo", "globs", "paths")
_EVERY_FILE = frozenset({"**", "**/*"})


class MarkdownKind(Struct, frozen=True):
    """What Markdown files of one place are."""

    kind: Kind
    # Whether a rule that names no files and says nothing else always applies.
    always: bool = False
    # What a file is named after that gives itself no name: itself without its ending, the folder
    # that it lies in, or all of its path.
    named_by: Literal["file", "folder", "path"] = "file"


_Fields: TypeAlias = Mapping[str, object]


def markdown_customization(file: ReadFile, what: MarkdownKind) -> FoundCustomization:
    """Return the customization that a file is; with its problem, if it has one."""
    found = FoundCustomization(what.kind, _name_of(file.path, what), file.path)
    if file.problem is not None:
        return replace(found, problem=file.problem)
    try:
        fields, body = parse_front_matter(file.text)
        found = replace(found, name=name_from(fields, found.name))
        return _READERS[what.kind](found, fields, body, what)
    except (BadFrontMatter, BadField, BadGlob) as error:
        return replace(found, problem=str(error))


def body_reader(tree: Tree, path: str, most: int) -> Callable[[], Awaitable[str]]:
    """Return what reads the text of a file without its front matter, whenever it is called."""
    return functools.partial(_read_body, tree, path, most)


def beside_reader(tree: Tree, path: str, most: int) -> Callable[[str], Awaitable[str]]:
    """Return what reads other files of the folder that a file lies in, and none outside of it."""
    return functools.partial(_read_beside, tree, path.rpartition("/")[0], most)


async def _read_beside(tree: Tree, folder: str, most: int, path: str) -> str:
    inside = path_inside(path)
    if inside is None:
        raise UnreadableCustomization(f"{shortened(path)} is no path in the folder")
    try:
        return decoded(await asked_read(tree.below(folder), inside, most))
    except (OSError, AgentHostError) as error:
        why = why_unreadable(error)
        raise UnreadableCustomization(f"{shortened(inside)} cannot be read: {why}") from error


async def _read_body(tree: Tree, path: str, most: int) -> str:
    try:
        return split_front_matter(decoded(await asked_read(tree, path, most)))[1]
    except (OSError, AgentHostError) as error:
        raise UnreadableCustomization(f"{path} cannot be read: {why_unreadable(error)}") from error


def _name_of(path: str, what: MarkdownKind) -> str:
    folder, _, name = path.rpartition("/")
    if what.named_by == "path":
        return plain(path, LONGEST_NAME)
    if what.named_by == "folder" and folder:
        return plain(folder.rpartition("/")[2], LONGEST_NAME)
    for ending in _ENDINGS:
        if name.lower().endswith(ending) and len(name) > len(ending):
            name = name[: -len(ending)]
            break
    return plain(name, LONGEST_NAME) or "unnamed"


def _rule(
    found: FoundCustomization, fields: _Fields, body: str, what: MarkdownKind
) -> FoundCustomization:
    globs = tuple(glob for key in _GLOB_FIELDS for glob in words_from(fields, key))
    description = text_from(fields, "description")
    # Tried now: nobody wants to learn in a turn that a pattern cannot be used.
    Globs(globs)
    everywhere = not _EVERY_FILE.isdisjoint(globs)
    unsaid = what.always and not globs
    return replace(
        found,
        description=description,
        always=flag_from(fields, "alwaysApply", everywhere or unsaid),
        globs=() if everywhere else globs,
    )


def _skill(
    found: FoundCustomization, fields: _Fields, body: str, what: MarkdownKind
) -> FoundCustomization:
    return replace(
        found,
        description=text_from(fields, "description") or _excerpt(body),
        model_may_invoke=not flag_from(fields, "disable-model-invocation", False),
        user_may_invoke=_may_user_invoke(fields),
    )


def _prompt(
    found: FoundCustomization, fields: _Fields, body: str, what: MarkdownKind
) -> FoundCustomization:
    # Prompts are what people send; models have skills.
    return replace(
        found,
        description=text_from(fields, "description") or _excerpt(body),
        model=_model(fields),
        tools=words_from(fields, "tools"),
        model_may_invoke=False,
    )


def _agent(
    found: FoundCustomization, fields: _Fields, body: str, what: MarkdownKind
) -> FoundCustomization:
    # `infer: false` is the older spelling of the other.
    disabled = flag_from(fields, "disable-model-invocation", not flag_from(fields, "infer", True))
    return replace(
        found,
        description=text_from(fields, "description"),
        model=_model(fields),
        tools=words_from(fields, "tools"),
        model_may_invoke=not disabled,
        user_may_invoke=_may_user_invoke(fields),
    )


_Reader: TypeAlias = Callable[[FoundCustomization, _Fields, str, MarkdownKind], FoundCustomization]
_READERS: dict[Kind, _Reader] = {
    "rule": _rule,
    "skill": _skill,
    "prompt": _prompt,
    "agent": _agent,
}


def _may_user_invoke(fields: _Fields) -> bool:
    # Both spellings are about.
    return flag_from(fields, "user-invocable", flag_from(fields, "user-invokable", True))


def _model(fields: _Fields) -> str | None:
    """Return the model to use; of several the first, which its author likes best."""
    given = fields.get("model")
    if isinstance(given, list):
        return (words_from(fields, "model") or (None,))[0]
    # Claude Code's word for the model of whoever calls.
    model = text_from(fields, "model", _LONGEST_MODEL)
    return model if model and model != "inherit" else None


def _excerpt(body: str) -> str:
    """Return the first words of a text that are no heading."""
    for line in body[: 10 * LONGEST_DESCRIPTION].split("\n"):
        words = line.strip()
        if words and not words.startswith(("#", "<!--", "---", "```")):
            return plain(words, _LONGEST_EXCERPT)
    return ""
