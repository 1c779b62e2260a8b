"""Markdown files as rules, skills, prompts and agents."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.customizations.markdown_files import (
    MarkdownKind,
    body_reader,
    markdown_customization,
)
from agenthost.customizations.reading import ReadFile, UnreadableCustomization
from agenthost.customizations.types import FoundCustomization, Kind
from tests.customizations.trees import MemoryTree

KINDS: tuple[Kind, ...] = ("rule", "skill", "prompt", "agent")


def read(
    kind: Kind, front: str, path: str = "x.md", body: str = "", *, always: bool = False
) -> FoundCustomization:
    text = f"---\n{front}\n---\n{body}"
    return markdown_customization(ReadFile(path, text), MarkdownKind(kind, always))


# Names


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a/plan.prompt.md", "plan"),
        ("ask.chatmode.md", "ask"),
        ("py.instructions.md", "py"),
        ("x.agent.md", "x"),
        ("rule.MDC", "rule"),
        (".md", ".md"),
    ],
)
def test_a_file_that_gives_no_name_is_named_after_itself(path: str, name: str) -> None:
    assert read("prompt", "", path).name == name


def test_a_skill_is_named_after_its_folder() -> None:
    file = ReadFile("skills/my skill/SKILL.md", "Text")
    assert markdown_customization(file, MarkdownKind("skill", named_by="folder")).name == "my skill"


def test_instructions_are_named_by_their_path() -> None:
    file = ReadFile("web/AGENTS.md", "Text")
    assert markdown_customization(file, MarkdownKind("rule", named_by="path")).name == file.path


@pytest.mark.parametrize("kind", KINDS)
def test_the_name_in_the_file_comes_first(kind: Kind) -> None:
    assert read(kind, "name: My name").name == "My name"


# Rules


@pytest.mark.parametrize("field", ["applyTo", "globs", "paths"])
def test_a_rule_names_the_files_it_is_for_in_the_words_of_each_editor(field: str) -> None:
    rule = read("rule", f"{field}: src/**/*.ts,*.py\ndescription: about")
    assert (rule.globs, rule.always) == (("src/**/*.ts", "*.py"), False)
    assert rule.description == "about"


@pytest.mark.parametrize("glob", ["**", "**/*"])
def test_a_rule_for_every_file_always_applies(glob: str) -> None:
    rule = read("rule", f"applyTo: '{glob}'")
    assert (rule.always, rule.globs) == (True, ())


def test_a_rule_that_names_no_files_applies_as_its_place_has_it() -> None:
    assert read("rule", "", always=True).always
    assert not read("rule", "").always
    assert not read("rule", "globs: '*.py'", always=True).always
    assert not read("rule", "alwaysApply: false", always=True).always
    assert read("rule", "alwaysApply: yes").always


# Skills, prompts, agents


def test_who_may_invoke_a_skill() -> None:
    def invokers(front: str) -> tuple[bool, bool]:
        skill = read("skill", front)
        return skill.model_may_invoke, skill.user_may_invoke

    assert invokers("") == (True, True)
    assert invokers("disable-model-invocation: true") == (False, True)
    assert invokers("user-invocable: false") == (True, False)
    assert invokers("user-invokable: no\ndisable-model-invocation: yes") == (False, False)


def test_a_skill_without_a_description_is_described_by_its_first_words() -> None:
    assert read("skill", "", body="# Title\n\n<!-- x -->\nDoes this.\nAnd that.").description == (
        "Does this."
    )
    assert len(read("skill", "", body="x" * 10_000).description) == 200


def test_an_agent_has_model_and_tools() -> None:
    agent = read("agent", "model: gpt-5\ntools: ['read', 'server/*']\ndescription: d")
    assert (agent.model, agent.tools, agent.description) == ("gpt-5", ("read", "server/*"), "d")


def test_of_several_models_the_first_is_taken_and_the_callers_own_is_none() -> None:
    assert read("agent", "model: [a, b]").model == "a"
    assert read("agent", "model: []").model is None
    assert read("agent", "model: inherit").model is None
    assert read("agent", "").model is None


def test_an_agent_that_is_not_to_be_inferred_is_for_people_alone() -> None:
    assert not read("agent", "infer: false").model_may_invoke
    assert read("agent", "infer: false\ndisable-model-invocation: false").model_may_invoke


def test_a_prompt_is_for_people_and_may_name_its_model_and_tools() -> None:
    prompt = read("prompt", "model: m\ntools: a", body="Do it.")
    assert (prompt.model, prompt.tools, prompt.description) == ("m", ("a",), "Do it.")
    assert not prompt.model_may_invoke


# Problems


@pytest.mark.parametrize(
    ("kind", "front", "problem"),
    [
        ("rule", "globs: {a: b}", "`globs`"),
        ("rule", f"globs: '{'{a,b}' * 9}'", "more than 100 patterns"),
        ("rule", "alwaysApply: sometimes", "`alwaysApply`"),
        ("skill", "name: [x]", "`name`"),
        ("skill", "description: {a: b}", "`description`"),
        ("skill", "user-invocable: [no]", "`user-invocable`"),
        ("agent", "tools: {a: b}", "`tools`"),
        ("agent", "model: {a: b}", "`model`"),
        ("prompt", "tools: [[a]]", "`tools`"),
        ("prompt", "a: *b", "aliases"),
    ],
)
def test_a_broken_file_is_an_entry_with_its_problem(kind: Kind, front: str, problem: str) -> None:
    found = read(kind, front, "folder/broken.md")
    assert found.problem is not None
    assert problem in found.problem
    assert (found.kind, found.name, found.path) == (kind, "broken", "folder/broken.md")


def test_a_file_that_could_not_be_read_keeps_that_problem() -> None:
    found = markdown_customization(ReadFile("x.md", problem="too large"), MarkdownKind("rule"))
    assert found.problem == "too large"


_FIELDS = st.sampled_from(
    ["name", "description", "model", "tools", "globs", "applyTo", "paths", "alwaysApply", "infer",
     "user-invocable", "disable-model-invocation"]
)  # fmt: skip
_VALUES = st.text(max_size=20) | st.sampled_from(["[a, b]", "{a: b}", "[[a]]", "true", "**", "|"])


@given(
    st.sampled_from(KINDS),
    st.lists(st.tuples(_FIELDS, _VALUES), max_size=6),
    st.text(max_size=50),
    st.booleans(),
)
def test_no_file_raises(kind: Kind, fields: list[tuple[str, str]], body: str, always: bool) -> None:
    front = "\n".join(f"{name}: {value}" for name, value in fields)
    found = read(kind, front, body=body, always=always)
    assert found.name
    assert found.kind == kind
    assert len(found.problem or "") < 500


# Bodies


async def test_a_body_is_read_when_it_is_asked_for() -> None:
    tree = MemoryTree({"a.md": b"---\nname: x\n---\nFirst"})
    read_body = body_reader(tree, "a.md", 100)
    assert await read_body() == "First"
    tree.files["a.md"] = b"Second"
    assert await read_body() == "Second"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "it is not there"),
        (b"x" * 101, "more than"),
        (b"\xff", "no UTF-8"),
        (b"---\nnever closed", "no --- at its end"),
    ],
)
async def test_a_body_that_cannot_be_read_any_more_is_told(
    content: bytes | None, reason: str
) -> None:
    tree = MemoryTree({} if content is None else {"a.md": content})
    with pytest.raises(UnreadableCustomization, match=f"a.md cannot be read: .*{reason}"):
        await body_reader(tree, "a.md", 100)()
