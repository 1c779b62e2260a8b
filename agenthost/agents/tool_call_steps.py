"""The steps of a tool call: announced, perhaps approved, shown, and always ended.

Each method is one step of the protocol's tool-call table; whatever the agent forgets, leaving the
``async with`` block brings the call to an end. What runs in a call is in ``tool_call``.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from agenthost.agents import content as contents
from agenthost.agents.api import AgentError, agent_message
from agenthost.agents.approvals import (
    ALLOW_IN_SESSION,
    Confirmation,
    check_options,
    prompt_fields,
    standard_options,
    without_remembering,
)
from agenthost.agents.common_settings import NEEDED_MODE, NeededMode, is_covered
from agenthost.agents.sanitize import emit, json_copy, text_pieces, valid_text
from agenthost.agents.turn_port import TurnPort
from agenthost.protocol.chat.active_turn import find_tool_call
from agenthost.protocol.markdown import markdown_of

# Partial content is resent as a whole, so it is kept short while a call runs.
MOST_LIVE_TEXT = 16 * 1024
_NOT_ENTERED = "the agent made a mistake: a tool call is used with async with turn.tool(…) as call"


class ToolCallSteps:
    """A tool call in progress, as a series of steps; ``ToolCall`` is what agents are given."""

    def __init__(
        self,
        port: TurnPort,
        turn_id: str,
        name: str,
        *,
        input: Any = None,
        display_name: str | None = None,
        intention: str | None = None,
        invocation: str | None = None,
        contributor: Mapping[str, Any] | None = None,
        meta: Mapping[str, Any] | None = None,
        folders: Sequence[str] = (),
    ) -> None:
        self._port = port
        self._turn_id = turn_id
        self.id = port.new_id("call")
        self.name = name
        self._display_name = display_name or name
        self._intention = intention
        self._invocation = invocation or self._display_name
        self._contributor = contributor
        self._meta = meta
        # The session's directories, in which the call may edit files.
        self._folders = folders
        self._input = _as_text(input)
        # Whether people have been shown that there is this call.
        self._announced = False
        # Partial content: text written so far, and other blocks shown so far.
        self._live_text = ""
        self._blocks: Sequence[Mapping[str, Any]] = ()

    async def __aenter__(self) -> Self:
        start: dict[str, Any] = {"toolName": self.name, "displayName": self._display_name}
        more = {"intention": self._intention, "contributor": self._contributor, "_meta": self._meta}
        start |= {name: value for name, value in more.items() if value is not None}
        self._announced = True
        # Nothing is awaited here: cancelled in between, nobody would end the call.
        self._emit("chat/toolCallStart", **start)
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(exc, asyncio.CancelledError):
            # Of a turn that is over the host has ended everything; here only this call may be.
            self._give_up("it was cancelled", "cancelled")
        elif exc is not None:
            self._give_up(str(agent_message(exc) or f"it failed ({type(exc).__name__})"))
        elif self.status in ("streaming", "running"):
            await self.complete()
        else:
            self._give_up("nobody waits for an answer any more")

    @property
    def state(self) -> Mapping[str, Any]:
        """The call as the chat's state has it."""
        found = find_tool_call(self._port.state, self.id)
        if found is None:
            raise asyncio.CancelledError("the turn of this tool call is over")
        return found

    @property
    def status(self) -> str:
        """The call's status, such as running or completed."""
        found = find_tool_call(self._port.state, self.id)
        return "cancelled" if found is None else str(found["status"])

    @property
    def _settings(self) -> Mapping[str, Any]:
        """The session's settings as they are now."""
        config = self._port.session_state.get("config") or {}
        values: Mapping[str, Any] = config.get("values") or {}
        return values

    async def stream_input(self, text: str) -> None:
        """Show parameters while they are still being made."""
        for piece in text_pieces(text):
            self._emit("chat/toolCallDelta", content=piece)
            await self._port.flow()

    async def start(
        self, input: Any = None, *, invocation: str | None = None, by_setting: bool = False
    ) -> None:
        """Begin to run without asking anybody: it is harmless, or a setting allows it."""
        fields: dict[str, Any] = {"confirmed": "setting" if by_setting else "not-needed"}
        if by_setting:
            fields["_meta"] = {**(self._meta or {}), "autoApproveBySetting": True}
        self._ready(input, invocation, **fields)
        await self._port.may_act()

    async def confirm(
        self,
        title: str | None = None,
        *,
        input: Any = None,
        invocation: str | None = None,
        options: Sequence[Mapping[str, Any]] | None = None,
        editable: bool = False,
        edits: Sequence[Mapping[str, Any]] | None = None,
        risk: Mapping[str, Any] | None = None,
        rememberable: bool = True,
        mode: NeededMode | None = None,
    ) -> Confirmation:
        """Ask for approval and wait for the first answer; also again while the call runs.

        Without ``options`` the usual four are offered; an empty list offers plain yes and no.
        ``rememberable`` lets "allow in this session" answer for later calls of the same tool.
        ``mode`` is what the session must allow for the call to run without asking; without one
        people are always asked. They may change it while they are asked.
        """
        if mode is not None and is_covered(self._settings, mode):
            await self.start(input, invocation=invocation, by_setting=True)
            return self._read_answer()
        if rememberable and self._port.is_allowed(self.name):
            self._ready(input, invocation, confirmed="setting")
            await self._port.may_act()
            return self._read_answer()
        shown = standard_options(self._port.locale) if options is None else list(options)
        if not rememberable:
            shown = without_remembering(shown)
        check_options(shown)
        fields: dict[str, Any] = {"options": shown} if shown else {}
        if editable:
            fields["editable"] = True
        if mode is not None:
            fields["_meta"] = {**(self._meta or {}), NEEDED_MODE: mode}
        self._ready(input, invocation, **fields, **prompt_fields(title, edits, risk))
        if not await self._left("pending-confirmation"):
            self._give_up("nobody answered in time")
        if self.status == "running":
            await self._port.may_act()
        return self._read_answer()

    async def update_confirmation(
        self,
        title: str | None = None,
        *,
        invocation: str | None = None,
        risk: Mapping[str, Any] | None = None,
    ) -> bool:
        """Say more about a call while ``confirm`` waits for people in another task.

        What is not given stays, and so does what they approve: clients of old versions are not
        shown any change. Without effect, and False, once the question is answered.
        """
        if self.status != "pending-confirmation":
            return False
        self._ready(None, invocation, **prompt_fields(title, None, risk))
        await self._port.flow()
        return True

    async def auth_required(self, auth: Mapping[str, Any]) -> None:
        """Show that the running call waits until somebody signs in; ``auth`` says where and why.

        Only for a call whose contributor is an MCP server. ``auth`` is an McpAuthRequirement:
        ``reason``, ``resource``, perhaps ``requiredScopes``.
        """
        if (self._contributor or {}).get("kind") != "mcp":
            told = "the agent made a mistake: only calls of MCP servers wait for people to sign in"
            raise AgentError(told, "badAction")
        self._emit("chat/toolCallAuthRequired", auth=auth)
        await self._port.flow()

    async def auth_resolved(self) -> None:
        """Show that the call goes on, now that somebody has signed in."""
        self._emit("chat/toolCallAuthResolved")
        await self._port.flow()

    async def ended(self) -> None:
        """Wait until the call has ended, whoever ended it."""

        def look(state: Mapping[str, Any]) -> bool | None:
            found = find_tool_call(state, self.id)
            over = found is None or found["status"] in ("completed", "cancelled")
            return True if over else None

        await self._port.wait_for(look)

    async def write(self, text: str) -> None:
        """Show output while the call runs; of a long one, the newest part."""
        await self._show((self._live_text + valid_text(text))[-MOST_LIVE_TEXT:], self._blocks)

    async def show(self, *content: Mapping[str, Any]) -> None:
        """Show further content while the call runs."""
        await self._show(self._live_text, [*self._blocks, *content])

    async def replace(self, *content: Mapping[str, Any]) -> None:
        """Show this content instead of all that was written and shown so far."""
        await self._show("", content)

    async def complete(
        self,
        message: str | None = None,
        content: Sequence[Mapping[str, Any]] | None = None,
        *,
        structured: Mapping[str, Any] | None = None,
    ) -> None:
        """End the call with success; without ``content``, what was shown is the result."""
        self._finish(self._result(True, message, content, structured))
        await self._port.flow()

    async def fail(self, reason: str, *, code: str | None = None) -> None:
        """End the call with failure."""
        self._fail(reason, code)
        await self._port.flow()

    async def review(
        self, message: str | None = None, content: Sequence[Mapping[str, Any]] | None = None
    ) -> bool:
        """End the call with success and wait until people approve of the result, or do not.

        Where only clients are attached that cannot ask for it, the result is shown and passes.
        """
        result = self._result(True, message, content, None)
        if not self._port.can_show_reviews:
            self._finish(result)
            await self._port.flow()
            return True
        self._finish(result, requiresResultConfirmation=True)
        if not await self._left("pending-result-confirmation"):
            self._give_up("nobody answered in time")
        return self.status == "completed"

    def _read_answer(self) -> Confirmation:
        state = self.state
        option = (state.get("selectedOption") or {}).get("id")
        if state["status"] not in ("running", "cancelled"):
            raise AgentError(f"{self._display_name} has ended and cannot be approved", "callEnded")
        if state["status"] == "running":
            if option == ALLOW_IN_SESSION:
                self._port.allow(self.name)
            given = state.get("toolInput")
            self._input = given if isinstance(given, str) else self._input
            return Confirmation(True, self._input, option)
        said, suggestion = state.get("reasonMessage"), state.get("userSuggestion") or {}
        return Confirmation(
            False,
            self._input,
            option,
            reason=state["reason"],
            reason_message=markdown_of(said) if said is not None else None,
            suggestion=suggestion.get("text"),
        )

    async def _left(self, *statuses: str) -> bool:
        """Wait until the call has another status; False when that takes people too long."""

        def left(state: Mapping[str, Any]) -> bool | None:
            call = find_tool_call(state, self.id)
            return True if call is not None and call["status"] not in statuses else None

        try:
            async with asyncio.timeout(self._port.prompt_timeout):
                return await self._port.wait_for(left)
        except TimeoutError:
            return False

    def _give_up(self, reason: str, code: str | None = None) -> None:
        """End the call, whatever it waits for; one that has ended takes no notice."""
        match self.status:
            case "pending-confirmation":
                skipped = {"approved": False, "reason": "skipped", "reasonMessage": reason}
                self._emit("chat/toolCallConfirmed", **skipped)
            case "pending-result-confirmation":
                self._emit("chat/toolCallResultConfirmed", approved=False)
            case "streaming" | "running" | "auth-required":
                self._fail(reason, code)

    def _fail(self, reason: str, code: str | None) -> None:
        result = self._result(False, f"{self._display_name} failed", None, None)
        result["error"] = {"message": reason} if code is None else {"message": reason, "code": code}
        self._finish(result)

    def _ready(self, input: Any, invocation: str | None, **fields: Any) -> None:
        if input is not None:
            self._input = _as_text(input)
        self._invocation = invocation or self._invocation
        self._live_text, self._blocks = "", ()
        if self._input is not None:
            fields["toolInput"] = self._input
        self._emit("chat/toolCallReady", invocationMessage=self._invocation, **fields)

    def _finish(self, result: dict[str, Any], **fields: Any) -> None:
        if self.status == "streaming":
            # A call cannot end before its parameters are complete.
            self._ready(None, None, confirmed="not-needed")
        self._emit("chat/toolCallComplete", result=result, **fields)

    def _result(
        self,
        success: bool,
        message: str | None,
        content: Sequence[Mapping[str, Any]] | None,
        structured: Mapping[str, Any] | None,
    ) -> dict[str, Any]:
        shown = content_of(self._live_text, self._blocks) if content is None else list(content)
        result: dict[str, Any] = {
            "success": success,
            "pastTenseMessage": message or f"Used {self._display_name}",
        }
        if shown:
            result["content"] = shown
        if structured is not None:
            result["structuredContent"] = dict(structured)
        return result

    async def _show(self, text: str, blocks: Sequence[Mapping[str, Any]]) -> None:
        blocks = json_copy(blocks)
        self._emit("chat/toolCallContentChanged", content=content_of(text, blocks))
        # Only now: what was refused must not come back with the result.
        self._live_text, self._blocks = text, blocks
        await self._port.flow()

    def _emit(self, action_type: str, **fields: Any) -> None:
        if not self._announced:
            raise AgentError(_NOT_ENTERED, "badAction")
        target = {"turnId": self._turn_id, "toolCallId": self.id}
        emit(self._port, {"type": action_type, **target, **fields})


def content_of(text: str, blocks: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return what a call shows: its text, and the blocks behind that."""
    return [contents.text(text), *blocks] if text else list(blocks)


def _as_text(input: Any) -> str | None:
    if input is None or isinstance(input, str):
        return input
    return json.dumps(json_copy(input), ensure_ascii=False)
