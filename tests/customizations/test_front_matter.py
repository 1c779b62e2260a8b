"""Front matter, from people and from those who wish us ill."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenthost.customizations.front_matter import (
    DEEPEST,
    MOST_FRONT_MATTER,
    MOST_MENDED_LINES,
    BadFrontMatter,
    parse_front_matter,
    split_front_matter,
)


def fields(yaml: str) -> dict[str, object]:
    return parse_front_matter(f"---\n{yaml}\n---\nbody")[0]


def refusal(yaml: str) -> str:
    with pytest.raises(BadFrontMatter) as refused:
        fields(yaml)
    return str(refused.value)


# Where it ends


def test_a_text_without_front_matter_is_all_body() -> None:
    assert parse_front_matter("# Title\n---\n") == ({}, "# Title\n---\n")


def test_front_matter_stands_between_two_lines_of_dashes() -> None:
    assert parse_front_matter("---\nname: x\n---\n\nText\n---\n") == (
        {"name": "x"},
        "\nText\n---\n",
    )


@pytest.mark.parametrize(
    "text",
    [
        "---\r\nname: x\r\n---\r\nbody",
        "\ufeff---\nname: x\n---\nbody",
        "--- \nname: x\n---\t\nbody",
    ],
    ids=["windows", "byte order mark", "blanks behind"],
)
def test_files_of_other_editors_are_read_alike(text: str) -> None:
    assert parse_front_matter(text) == ({"name": "x"}, "body")


def test_front_matter_may_be_empty_or_comments_alone() -> None:
    assert parse_front_matter("---\n---\nbody") == ({}, "body")
    assert parse_front_matter("---\n# nothing\n---\nbody") == ({}, "body")


def test_front_matter_that_is_never_closed_is_a_problem() -> None:
    with pytest.raises(BadFrontMatter, match="has no --- at its end"):
        parse_front_matter("---\nname: x\n\nText ---\n")


def test_a_text_of_dashes_alone_is_front_matter_that_is_never_closed() -> None:
    with pytest.raises(BadFrontMatter, match="has no --- at its end"):
        parse_front_matter("---")


def test_splitting_does_not_mind_what_the_yaml_is() -> None:
    assert split_front_matter("---\n{ no yaml\n---\nbody") == ("{ no yaml\n", "body")


# What it says


def test_all_values_stay_what_was_written() -> None:
    said = "version: 1.10\nname: on\nday: 2024-01-01\nnan: .nan\nnone: null\nyes: 0x1f\nempty:"
    assert fields(said) == {
        "version": "1.10", "name": "on", "day": "2024-01-01", "nan": ".nan", "none": "null",
        "yes": "0x1f", "empty": "",
    }  # fmt: skip


def test_lists_and_texts_of_several_lines_are_read_as_yaml_has_them() -> None:
    assert fields("tools:\n- a\n- b\nalso: [c, 'd: e']\ntext: >\n  one\n  two\n") == {
        "tools": ["a", "b"],
        "also": ["c", "d: e"],
        "text": "one two\n",
    }


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("description: use when: it rains", "use when: it rains"),
        ("globs: *.py, src/**", "*.py, src/**"),
        ("globs: **/*.ts", "**/*.ts"),
        ("argument-hint: [file] [mode]", "[file] [mode]"),
        ('description: "quoted" and don\'t: stop', '"quoted" and don\'t: stop'),
        ("name: @scope/x", "@scope/x"),
        ("name: `x`", "`x`"),
        ("name: 100%: sure", "100%: sure"),
    ],
)
def test_what_people_write_without_quotes_is_read_as_they_mean_it(line: str, value: str) -> None:
    name = line.partition(":")[0]
    assert fields(f"before: [a, b]\n{line}\nafter:\n- c") == {
        "before": ["a", "b"],
        name: value,
        "after": ["c"],
    }


def test_windows_files_are_mended_too() -> None:
    text = "---\r\ndescription: use when: it rains\r\nname: x\r\n---\r\n"
    assert parse_front_matter(text)[0] == {"description": "use when: it rains", "name": "x"}


def test_a_value_of_several_lines_is_not_mended() -> None:
    assert "line 2" in refusal("description: use when: it rains\n  and pours: too\nname: x")


def test_very_many_lines_are_not_mended() -> None:
    few = "\n".join(f"k{number}: a: b" for number in range(MOST_MENDED_LINES - 1))
    assert len(fields(few)) == MOST_MENDED_LINES - 1
    assert "mapping values" in refusal("\n".join([few] * 2))


# What is refused

BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(9)
)
HOSTILE = {
    "an alias bomb": (BOMB, "line 2: anchors and aliases"),
    "a list that holds itself": ("a: &a [*a]", "anchors and aliases"),
    "a merge": ("b: &b {x: 1}\na: {<<: *b}", "anchors and aliases"),
    "an alias": ("globs: *foo", "line 2: anchors and aliases"),
    "a python object": ("a: !!python/object/apply:os.system ['touch x']", "tags"),
    "binary": ("a: !!binary 'eA=='", "tags"),
    "a tag of its own": ("name: x\na: !x y", "line 3: tags"),
    "deep lists": ("a: " + "[" * 5000, f"deeper than {DEEPEST}"),
    "deep maps": ("".join(" " * i + f"a{i}:\n" for i in range(200)), f"deeper than {DEEPEST}"),
    "deep dashes": ("- " * 30_000, f"deeper than {DEEPEST}"),
    "ten megabytes": ("a: '" + "x" * 10_000_000 + "'", "more than"),
    "very many lines": ("- x\n" * 250_000, "more than"),
    "very many values": ("a: [" + "x," * 3_000 + "]", "too many values"),
    "a list as a name": ("? [a]\n: 1", "line 2: found unhashable key"),
    "a list": ("- a\n- b", "no `name: value` lines"),
    "a text": ("hello", "no `name: value` lines"),
    "a tab": ("name:\tx\n\tb: 1", "line 3: found a tab"),
    "a zero": ("a: \x00", "control characters"),
    "half a surrogate pair": ("a: \ud800", "no proper Unicode"),
    "a directive": ("%YAML 9.9", "line 2"),
}


@pytest.mark.parametrize(("yaml", "reason"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_yaml_is_refused_with_the_reason(yaml: str, reason: str) -> None:
    refused = refusal(yaml)
    assert reason in refused
    assert len(refused) < 300


def test_the_longest_front_matter_is_read() -> None:
    line = "x" * (MOST_FRONT_MATTER - 10)
    assert fields(f"a: {line}") == {"a": line}
    assert "more than" in refusal(f"a: {line}xxxxxxxxxx")


# Text that is nearly YAML, and text that is anything.
_PIECES = st.sampled_from(
    ["---", "\n", "\r\n", ": ", "name", "- ", "[", "]", "{", "}", "'", '"', "*", "&a", "!", "|",
     ">", "#", "?", "\t", "  ", "%", "\\x", "é", "\x00", "\ud800", "\u2028", "..."]
)  # fmt: skip
_NEARLY = st.lists(_PIECES, max_size=40).map("".join)


def are_plain(value: object) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and are_plain(one) for key, one in value.items())
    return isinstance(value, str) or (isinstance(value, list) and all(map(are_plain, value)))


@given(st.one_of(_NEARLY, st.text()).map(lambda text: f"---\n{text}\n---\nbody") | st.text())
def test_no_text_raises_anything_else_and_values_are_plain(text: str) -> None:
    try:
        found, body = parse_front_matter(text)
    except BadFrontMatter:
        return
    assert are_plain(found)
    assert text.endswith(body)


def test_the_yaml_library_is_not_loaded_until_there_is_front_matter() -> None:
    code = (
        "import sys; import agenthost.customizations as c; c.parse_front_matter('no'); "
        "before = 'yaml' in sys.modules; c.parse_front_matter('---\\na: b\\n---\\n'); "
        "print(before, 'yaml' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
