"""What a model reads of what is attached to a message."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import BinaryContent

from agenthost.agents.folders import Folders
from agenthost.agents.llm.attachments import MOST_BINARY, MOST_TEXT, prompt_of


def prompt(folder: Path, *attachments: dict[str, Any], text: str = "look") -> list[Any]:
    message = {"text": text, "origin": {"kind": "user"}, "attachments": list(attachments)}
    content = prompt_of(message, Folders([folder.as_uri()]))
    return [content] if isinstance(content, str) else list(content)


def embedded(data: bytes, content_type: str, **more: Any) -> dict[str, Any]:
    encoded = base64.b64encode(data).decode()
    fixed = {"type": "embeddedResource", "label": "it", "data": encoded}
    return {**fixed, "contentType": content_type, **more}


def resource(path: Path, **more: Any) -> dict[str, Any]:
    return {"type": "resource", "label": path.name, "uri": path.as_uri(), **more}


def test_a_message_without_attachments_is_its_text(tmp_path: Path) -> None:
    assert prompt(tmp_path) == ["look"]


def test_a_simple_attachment_is_what_it_says_it_is(tmp_path: Path) -> None:
    simple = {"type": "simple", "label": "the bug", "modelRepresentation": "it crashes"}
    assert prompt(tmp_path, simple) == ["look", "Attached: the bug\n\nit crashes"]


@pytest.mark.parametrize("content_type", ["image/png", "audio/wav", "application/pdf"])
def test_embedded_data_that_models_take_is_passed_on(tmp_path: Path, content_type: str) -> None:
    _, label, data = prompt(tmp_path, embedded(b"%PDF\x00\x01", content_type))
    assert label == "Attached: it"
    assert data == BinaryContent(b"%PDF\x00\x01", media_type=content_type)


@pytest.mark.parametrize(
    "content_type",
    ["text/plain", "text/x-python; charset=utf-8", "application/json", "application/x-unknown"],
)
def test_embedded_text_is_passed_on_as_text(tmp_path: Path, content_type: str) -> None:
    assert prompt(tmp_path, embedded(b"x = 1", content_type))[1] == "Attached: it\n\nx = 1"


def test_data_that_no_model_takes_is_only_named(tmp_path: Path) -> None:
    (_, note) = prompt(tmp_path, embedded(b"PK\x00", "application/zip"))
    assert (
        note == "Attached, but not shown to you: it (it is binary data (application/zip, 3 bytes))"
    )


def test_data_that_is_no_base64_is_only_named(tmp_path: Path) -> None:
    broken = {**embedded(b"", "image/png"), "data": "!!!"}
    assert "not valid base64" in prompt(tmp_path, broken)[1]


def test_a_file_inside_is_read(tmp_path: Path) -> None:
    (tmp_path / "a b.py").write_text("x = 1")
    (tmp_path / "p.png").write_bytes(b"\x89PNG")
    content = prompt(tmp_path, resource(tmp_path / "a b.py"), resource(tmp_path / "p.png"))
    assert content[1] == "Attached: a b.py\n\nx = 1"
    assert content[3] == BinaryContent(b"\x89PNG", media_type="image/png")


def test_only_the_selected_lines_of_a_file_are_shown(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("one\ntwo\nthree\nfour\n")
    start, end = {"line": 1, "character": 2}, {"line": 2, "character": 1}
    selected = resource(tmp_path / "a.py", selection={"range": {"start": start, "end": end}})
    assert prompt(tmp_path, selected)[1] == "Attached: a.py\n\n(lines 2 to 3)\ntwo\nthree"


def test_a_file_outside_is_not_read_not_even_through_a_link(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (tmp_path / "secret.txt").write_text("the launch code")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    content = prompt(folder, resource(tmp_path / "secret.txt"), resource(folder / "link.txt"))
    assert all("lies outside" in note for note in content[1:])
    assert "the launch code" not in str(content)


@pytest.mark.parametrize("uri", ["https://example.com/a.txt", "file://other/a.txt", "x:/1"])
def test_nothing_is_fetched_from_elsewhere(tmp_path: Path, uri: str) -> None:
    there = {"type": "resource", "label": "a.txt", "uri": uri}
    assert f"it is kept at {uri}" in prompt(tmp_path, there)[1]


def test_a_folder_and_a_missing_file_are_named(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    content = prompt(tmp_path, resource(tmp_path / "src"), resource(tmp_path / "none"))
    assert "it is the folder src" in content[1]
    assert "cannot be read" in content[2]


def test_attachments_of_other_kinds_are_named(tmp_path: Path) -> None:
    chat = {"type": "chat", "label": "that chat", "resource": "ahp-chat:/1"}
    assert prompt(tmp_path, chat)[1].startswith("Attached, but not shown to you: that chat")


def test_what_is_too_large_is_cut_or_left_out(tmp_path: Path) -> None:
    with (tmp_path / "huge.png").open("wb") as file:
        file.truncate(MOST_BINARY + 1)
    (tmp_path / "long.txt").write_text("x" * (MOST_TEXT + 1))
    content = prompt(tmp_path, resource(tmp_path / "huge.png"), resource(tmp_path / "long.txt"))
    assert "too large" in content[1]
    assert content[2].endswith("(the rest is left out)")
