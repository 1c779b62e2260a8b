"""What a type checker knows of what the client hands out: the protocol's types, not ``Any``."""

from __future__ import annotations

import dataclasses
import inspect
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from types import UnionType
from typing import Any, Union, assert_type, get_args, get_origin, get_type_hints

import pytest

from agenthost import client as sdk
from agenthost.client import (
    ChangesView,
    Channel,
    Chat,
    Client,
    ConfirmationNeeded,
    CreationFailed,
    Dispatch,
    PartAdded,
    Question,
    QuestionClosed,
    Redrawn,
    Rejected,
    Reset,
    ResourceProvider,
    Session,
    TerminalView,
    ToolCallChanged,
    ToolRun,
    TurnEnded,
    TurnFailed,
    TurnStarted,
    UsageReported,
    WatchInterrupted,
)
from agenthost.protocol.changeset import Changeset, ChangesetFile
from agenthost.protocol.chat.input_state import ChatInputRequest, ChatInputResponseKind
from agenthost.protocol.chat.messages import Message
from agenthost.protocol.chat.state import ChatState, CompletedTurn, ResponsePart
from agenthost.protocol.chat.tool_state import (
    ToolCallConfirmationState,
    ToolCallRunningState,
    ToolCallState,
)
from agenthost.protocol.commands import InitializeResult, InvokeChangesetOperationResult
from agenthost.protocol.common import ErrorInfo, UsageInfo
from agenthost.protocol.envelopes import ActionEnvelope
from agenthost.protocol.resource_watch import ResourceChange
from agenthost.protocol.resources import DirectoryEntry, ResourceResolveResult
from agenthost.protocol.session.state import SessionConfigSchema
from agenthost.protocol.terminal import TerminalCommandPart, TerminalInfo, TerminalState
from agenthost.protocol.wire_types import WIRE_TYPES

# What a tool's author hands in is for the host to check.
INPUT = {sdk.ToolResult}
# What the annotations of what is told name.
NAMES = {**WIRE_TYPES, "CompletedTurn": CompletedTurn}
TOLD = [
    each
    for name in sdk.__all__
    if dataclasses.is_dataclass(each := getattr(sdk, name)) and each not in INPUT
]


def test_what_only_some_need_is_loaded_when_it_is_asked_for() -> None:
    late = "changes", "file_watch", "files", "terminals"
    script = f"""
import sys, agenthost.client as sdk
assert not [name for name in {late} if "agenthost.client." + name in sys.modules]
for name in sdk.__all__:
    getattr(sdk, name)
assert all("agenthost.client." + name in sys.modules for name in {late})
assert not hasattr(sdk, "nonsense")
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def members_of(hint: Any) -> Iterator[Any]:
    """Yield a type and those it is a union or a collection of."""
    yield hint
    if get_origin(hint) in (Union, UnionType, Mapping, Sequence, list, dict):
        for inner in get_args(hint):
            yield from members_of(inner)


@pytest.mark.parametrize("told", TOLD)
def test_nothing_that_is_told_is_of_any_type(told: type) -> None:
    for name, hint in get_type_hints(told, localns=NAMES).items():
        assert Any not in members_of(hint), f"{told.__name__}.{name}"


def test_providers_of_resources_are_told_what_they_get_and_give() -> None:
    for name, method in inspect.getmembers(ResourceProvider, inspect.isfunction):
        hints = get_type_hints(method, localns=dict(WIRE_TYPES))
        assert hints["params"].__name__ == f"Resource{name.title()}Params"
        assert hints["return"].__name__ == f"Resource{name.title()}Result"


def check_events(
    needed: ConfirmationNeeded,
    changed: ToolCallChanged,
    question: Question,
    settled: QuestionClosed,
    started: TurnStarted,
    ended: TurnEnded,
) -> None:
    assert_type(needed.call, ToolCallConfirmationState)
    assert_type(changed.call, ToolCallState)
    assert_type(changed.before, ToolCallState | None)
    assert_type(question.request, ChatInputRequest)
    assert_type(settled.response, ChatInputResponseKind | None)
    assert_type(started.message, Message)
    assert_type(ended.turn, CompletedTurn | None)
    assert_type(ended.error, ErrorInfo | None)


def check_the_rest_of_events(added: PartAdded, used: UsageReported, redrawn: Redrawn) -> None:
    assert_type(added.part, ResponsePart)
    assert_type(used.usage, UsageInfo)
    assert_type(redrawn.parts, Sequence[ResponsePart])


def check_errors(rejected: Rejected, failed: TurnFailed, unmade: CreationFailed) -> None:
    assert_type(rejected.envelope, ActionEnvelope)
    assert_type(failed.turn, CompletedTurn | None)
    assert_type(unmade.error, ErrorInfo | None)


async def check_workspace(session: Session, view: ChangesView, terminal: TerminalView) -> None:
    assert_type(await session.files.list(), list[DirectoryEntry])
    assert_type(await session.files.stat("a"), ResourceResolveResult)
    async for changes in await session.files.watch():
        assert_type(changes, Sequence[ResourceChange] | WatchInterrupted)
    assert_type(await session.terminals.list(), list[TerminalInfo])
    assert_type(terminal.channel, Channel[TerminalState])
    assert_type(terminal.commands(), list[TerminalCommandPart])
    assert_type(session.changes.catalogue, list[Changeset])
    assert_type(await session.changes.open(), ChangesView)
    assert_type(view.files, list[ChangesetFile])
    assert_type(await view.invoke("stage"), InvokeChangesetOperationResult)


async def check_handles(client: Client, session: Session, chat: Chat, run: ToolRun) -> None:
    assert_type(client.host, InitializeResult)
    assert_type(session.config_schema, SessionConfigSchema | None)
    assert_type(chat.channel, Channel[ChatState])
    assert_type(run.call, ToolCallRunningState)
    dispatch: Dispatch = chat.truncate()
    assert_type(await dispatch, ActionEnvelope)
    async for told in chat.channel.envelopes():
        assert_type(told, ActionEnvelope | Reset[ChatState])
