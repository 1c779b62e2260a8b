"""Builds a model's prompt from a message and its attachments.

Images, sound, films and PDF documents travel as they are, everything else as text. Files are read
only inside the session's folders, and nothing is fetched from a network.
"""

from __future__ import annotations

import base64
import binascii
import mimetypes
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic_ai.messages import BinaryContent, UserContent

from agenthost.agents.folders import FileRefused, Folders, refusing
from agenthost.workspace import file_path

# About what providers accept in one request.
MOST_BINARY: Final = 20 * 1024 * 1024
# Some fifty thousand tokens: more would leave little room for an answer.
MOST_TEXT: Final = 200_000

_TEXT_TYPES: Final = {
    "application/javascript",
    "application/json",
    "application/toml",
    "application/x-sh",
    "application/xml",
    "application/yaml",
    "image/svg+xml",
}


def prompt_of(message: Mapping[str, Any], folders: Folders) -> str | Sequence[UserContent]:
    """Return what a model is told when somebody sends this message."""
    content: list[UserContent] = [message["text"]] if message["text"] else []
    for attachment in message.get("attachments", ()):
        content += _attached(attachment, folders)
    return content[0] if len(content) == 1 and isinstance(content[0], str) else content


def _attached(attachment: Mapping[str, Any], folders: Folders) -> list[UserContent]:
    label = str(attachment["label"])
    match attachment["type"]:
        case "simple":
            return _text(label, str(attachment.get("modelRepresentation", "")))
        case "embeddedResource":
            try:
                data = base64.b64decode(attachment["data"], validate=True)
            except (binascii.Error, ValueError):
                return _note(label, "its data is not valid base64")
            return _content(label, data, attachment["contentType"], attachment.get("selection"))
        case "resource":
            return _resource(label, attachment, folders)
        case kind:
            return _note(label, f"its kind ({kind}) cannot be shown here")


def _resource(label: str, attachment: Mapping[str, Any], folders: Folders) -> list[UserContent]:
    path = file_path(attachment["uri"])
    if path is None:
        return _note(label, f"it is kept at {attachment['uri']}, which is not read here")
    try:
        path = folders.resolve(str(path))
        with refusing(str(path), "read"):
            if path.is_dir():
                return _note(label, f"it is the folder {folders.shown(path)}")
        data = folders.read(str(path), MOST_BINARY)
    except FileRefused as error:
        return _note(label, str(error))
    guessed = mimetypes.guess_type(path.name)[0]
    media_type = attachment.get("contentType") or guessed or "application/octet-stream"
    return _content(label, data, media_type, attachment.get("selection"))


def _content(
    label: str, data: bytes, content_type: str, selection: Mapping[str, Any] | None
) -> list[UserContent]:
    if len(data) > MOST_BINARY:
        return _note(label, "it is too large")
    media_type = content_type.partition(";")[0].strip().lower()
    text = _decoded(data, media_type)
    if text is not None:
        return _text(label, _selected(text, selection))
    if media_type.startswith(("image/", "audio/", "video/")) or media_type == "application/pdf":
        return [f"Attached: {label}", BinaryContent(data, media_type=media_type)]
    return _note(label, f"it is binary data ({media_type}, {len(data)} bytes)")


def _decoded(data: bytes, media_type: str) -> str | None:
    """Return the text that data is, or None when it is something else."""
    known = media_type.startswith("text/") or media_type in _TEXT_TYPES
    if known or media_type.endswith(("+json", "+xml")):
        return data.decode(errors="replace")
    if media_type.startswith(("image/", "audio/", "video/")) or b"\0" in data:
        return None
    try:
        return data.decode() if media_type != "application/pdf" else None
    except UnicodeDecodeError:
        return None


def _selected(text: str, selection: Mapping[str, Any] | None) -> str:
    if selection is None:
        return text
    start, end = selection["range"]["start"], selection["range"]["end"]
    # Whole lines: a model understands code better than the middle of it.
    lines = text.splitlines()[start["line"] : end["line"] + 1]
    return f"(lines {start['line'] + 1} to {end['line'] + 1})\n" + "\n".join(lines)


def _text(label: str, text: str) -> list[UserContent]:
    if len(text) > MOST_TEXT:
        text = text[:MOST_TEXT] + "\n… (the rest is left out)"
    return [f"Attached: {label}\n\n{text}"]


def _note(label: str, why: str) -> list[UserContent]:
    return [f"Attached, but not shown to you: {label} ({why})"]
