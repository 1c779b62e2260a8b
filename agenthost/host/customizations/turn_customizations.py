"""What a turn is given of the customizations of its session: a snapshot of when it begins."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from agenthost.agents.api import AgentError
from agenthost.agents.turn_customizations import CustomAgent, GlobRule, Prompt, Skill
from agenthost.customizations import FoundCustomization, UnreadableCustomization
from agenthost.errors import shortened
from agenthost.host.customizations.tree import TreeItem
from agenthost.workspace.paths import file_path

# Bytes of instructions that are put before every request to a model.
MOST_INSTRUCTIONS = 64 * 1024
# Skills, prompts and rules that are listed, each sort by itself.
MOST_LISTED = 200
# The user's own first: what is nearer to the work has the last word.
_ORDER = ("builtin", "user", "plugin", "client", "workspace")
# Who has room before the others: what somebody brings crowds out no one's own.
_ROOM = ("user", "workspace", "builtin", "plugin", "client")
# Seconds that a turn waits for instructions that clients have to be asked for again.
CLIENT_SECONDS = 2.5


class HeldCustomizations(Struct, frozen=True):
    """The customizations of one turn."""

    instructions: str
    skills: Sequence[Skill]
    prompts: Sequence[Prompt]
    agent: CustomAgent | None
    rules: Sequence[GlobRule]
    found: Mapping[str, FoundCustomization]

    async def load(self, item: Skill | Prompt | GlobRule, file: str | None = None) -> str:
        """Return the text of something listed here, or of another file of a skill's folder."""
        found = self.found.get(item.id)
        if found is None or found.body is None:
            raise AgentError(f"there is no {item.name} here", "noCustomization")
        try:
            if file is None:
                return await found.body()
            if found.beside is None:
                raise AgentError(f"{item.name} has no other files", "noCustomization")
            return await found.beside(file)
        except UnreadableCustomization as error:
            what = item.name if file is None else f"{shortened(file)} of {item.name}"
            raise AgentError(f"{what} cannot be read: {error}", "noCustomization") from None


async def turn_customizations(
    items: Iterable[TreeItem], agent_uri: str | None
) -> HeldCustomizations:
    """Return what of some customizations counts in a turn; AgentError if the agent does not."""
    usable = [item for item in items if item.is_usable]
    usable.sort(key=lambda item: _ORDER.index(item.brought.source.origin))
    rules = [item for item in usable if item.found.kind == "rule"]
    return HeldCustomizations(
        instructions=await _instructions([rule for rule in rules if rule.found.always]),
        skills=[_skill(item) for item in _listed(usable, "skill")],
        prompts=[_prompt(item) for item in _listed(usable, "prompt")],
        agent=await _agent(usable, agent_uri) if agent_uri is not None else None,
        rules=[_rule(item) for item in _listed(rules, "rule") if not item.found.always],
        found={item.id: item.found for item in usable},
    )


def _listed(items: Sequence[TreeItem], kind: str) -> list[TreeItem]:
    of_kind = [item for item in items if item.found.kind == kind]
    if len(of_kind) <= MOST_LISTED:
        return of_kind
    chosen = {item.id for item in sorted(of_kind, key=_room)[:MOST_LISTED]}
    return [item for item in of_kind if item.id in chosen]


def _room(item: TreeItem) -> int:
    return _ROOM.index(item.brought.source.origin)


async def _instructions(rules: Sequence[TreeItem]) -> str:
    """Return all instructions in one text, each under its path, as long as there is room."""
    texts: dict[str, str] = {}
    seen: set[str] = set()
    # Where there was no room left for one.
    full: set[str] = set()
    size = 0
    until = asyncio.get_running_loop().time() + CLIENT_SECONDS
    for rule in sorted(rules, key=_room):
        origin = rule.brought.source.origin
        if origin in full:
            continue
        text = await _text(rule, until if origin == "client" else None)
        if not text or text in seen:
            # One file by two names.
            continue
        seen.add(text)
        if size + len(text.encode()) > MOST_INSTRUCTIONS:
            full.add(origin)
            text = "(left out: the instructions are longer than fits in here)"
        else:
            size += len(text.encode())
        texts[rule.id] = f"# {_path(rule.uri)}\n\n{text}"
    return "\n\n".join(texts[rule.id] for rule in rules if rule.id in texts)


async def _text(rule: TreeItem, until: float | None) -> str:
    """Return the text of a rule; nothing if it is gone, or not told in time."""
    if rule.found.body is None:
        return ""
    try:
        async with asyncio.timeout_at(until):
            return (await rule.found.body()).strip()
    except (UnreadableCustomization, TimeoutError):
        return ""


async def _agent(items: Sequence[TreeItem], uri: str) -> CustomAgent:
    for item in items:
        if item.found.kind == "agent" and item.uri == uri:
            return await _custom_agent(item)
    raise AgentError(f"there is no agent {shortened(uri)} in this session any more", "noAgent")


async def _custom_agent(item: TreeItem) -> CustomAgent:
    found = item.found
    try:
        text = await found.body() if found.body is not None else ""
    except UnreadableCustomization as error:
        raise AgentError(f"the agent {found.name} cannot be read: {error}", "noAgent") from None
    return CustomAgent(
        id=item.id,
        name=item.shown_name,
        description=found.description,
        uri=item.uri,
        instructions=text,
        model=found.model,
        tools=found.tools,
    )


def _skill(item: TreeItem) -> Skill:
    found = item.found
    return Skill(
        id=item.id,
        name=item.shown_name,
        description=found.description,
        uri=item.uri,
        model_may_invoke=found.model_may_invoke,
        user_may_invoke=found.user_may_invoke,
    )


def _prompt(item: TreeItem) -> Prompt:
    found = item.found
    return Prompt(
        id=item.id,
        name=item.shown_name,
        description=found.description,
        uri=item.uri,
        model=found.model,
        tools=found.tools,
    )


def _rule(item: TreeItem) -> GlobRule:
    found = item.found
    return GlobRule(
        id=item.id,
        name=item.shown_name,
        description=found.description,
        uri=item.uri,
        path=_path(item.uri),
        globs=found.globs,
    )


def _path(uri: str) -> str:
    path = file_path(uri)
    return str(path) if path is not None else uri
