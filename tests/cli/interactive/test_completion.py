"""What could be inserted where one types."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agenthost.cli.interactive.completion import (
    attachments_in,
    command_items,
    complete,
    file_items,
    joined,
    mentioned_path,
    offered_items,
    session_items,
)
from agenthost.cli.interactive.completion_menu import MenuItem

Json = dict[str, Any]

COMMANDS = [
    ("agent", "the custom agents", ["reviewer", "writer"]),
    ("servers", "the MCP servers", ["start time", "stop time"]),
    ("show", "in full", []),
    ("sessions", "the newest", []),
]


def offered(insert: str, start: int = 0, end: int | None = None, **more: Any) -> Json:
    ranged = {"rangeStart": start} if end is None else {"rangeStart": start, "rangeEnd": end}
    return {"insertText": insert, **ranged, **more}


def texts(items: list[MenuItem]) -> list[str]:
    return [item.text for item in items]


def test_what_it_can_only_mean_is_inserted_with_its_attachment() -> None:
    attachment = {"type": "simple", "label": "tidy", "_meta": {"description": "cleans up"}}
    done = complete("/ti", offered_items("/ti", [offered("/tidy ", 0, 3, attachment=attachment)]))
    assert done.before == "/tidy "
    assert done.taken is not None
    assert done.taken.attached == ("/tidy", attachment)
    assert done.taken.about == "cleans up"


def test_several_go_as_far_as_they_agree_and_are_to_be_chosen_from() -> None:
    items = offered_items("/ti", [offered("/tidy-up ", 0, 3), offered("/tidy-down ", 0, 3)])
    done = complete("/ti", items)
    assert done.before == "/tidy-"
    assert done.taken is None
    assert [item.label for item in done.items] == ["/tidy-up", "/tidy-down"]
    # What only contains the letters does not take them away.
    fuzzy = offered_items("@mn", [offered("@main.py ", 0, 3), offered("@moon.py ", 0, 3)])
    assert complete("@mn", fuzzy).before == "@mn"


def test_nothing_found_leaves_the_text_alone() -> None:
    assert complete("hello", []).before == "hello"


def test_a_range_is_counted_in_utf_16() -> None:
    items = offered_items("😀 @rea", [offered("@README.md ", 3, 7)])
    assert texts(items) == ["😀 @README.md "]


def test_our_commands_and_what_follows_them_are_completed_one_after_the_other() -> None:
    assert texts(command_items("/s", COMMANDS)) == ["/servers ", "/show ", "/sessions "]
    assert texts(command_items("/agent r", COMMANDS)) == ["/agent reviewer"]
    assert complete("/servers ", command_items("/servers ", COMMANDS)).before == "/servers st"
    assert command_items("/agent x", COMMANDS) == command_items("hello", COMMANDS) == []


def test_a_command_of_the_agents_that_is_named_as_ours_gets_a_second_slash() -> None:
    attachment = {"label": "/show", "_meta": {"description": "of the agent"}}
    (item,) = offered_items("/sh", [offered("/show ", 0, 3, attachment=attachment)], ["show"])
    assert (item.text, item.label) == ("//show ", "//show")
    assert item.about == "the agent's: of the agent"
    both = joined(command_items("/sh", COMMANDS), [item])
    assert texts(both) == ["/show ", "//show "]


def test_what_would_put_control_characters_into_the_line_is_left_out() -> None:
    hostile = ("/x\x1b[2J", "/x\n", "/x\x9b2J", "/x\u202egpj", "/x\ud800")
    assert offered_items("/x", [offered(insert, 0, 2) for insert in hostile]) == []


def test_a_path_is_what_stands_behind_an_at_sign_at_the_end() -> None:
    assert mentioned_path("look at @src/ma") == "src/ma"
    assert mentioned_path("@") == ""
    assert mentioned_path("me@example.org") is None
    assert mentioned_path("@src and") is None


def test_what_a_folder_has_can_be_mentioned_folders_to_go_on_with() -> None:
    entries = [
        {"name": "main.py", "type": "file"},
        {"name": "mod", "type": "directory"},
        {"name": "other.py", "type": "file"},
        {"name": "with space.py", "type": "file"},
        {"name": "m\x1b[2J", "type": "file"},
        {"type": "file"},
    ]
    items = file_items("see @src/m", "src/", entries)
    assert texts(items) == ["see @src/main.py ", "see @src/mod/"]


def test_sessions_are_found_by_id_and_title() -> None:
    sessions = [
        {"id": "abc123", "title": "Fix the build", "about": "in x"},
        {"id": "def456", "title": "Release notes", "about": "in y"},
    ]
    assert texts(session_items("/open ", "/open ", sessions)) == ["/open abc123", "/open def456"]
    assert texts(session_items("/open BUILD", "/open ", sessions)) == ["/open abc123"]
    assert texts(session_items("/open de", "/open ", sessions)) == ["/open def456"]


def test_attachments_go_with_the_words_that_are_still_there() -> None:
    inserted = {"/tidy": {"label": "tidy"}, "@a.md": {"label": "a"}}
    assert attachments_in("/tidy now", inserted) == [{"label": "tidy"}]


@given(st.text(), st.lists(st.tuples(st.text(), st.integers(-5, 50), st.integers(-5, 50))))
def test_no_answer_of_a_host_breaks_it(text: str, found: list[tuple[str, int, int]]) -> None:
    items = offered_items(text, [offered(insert, start, end) for insert, start, end in found])
    complete(text, items)
