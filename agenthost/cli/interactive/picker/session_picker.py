"""Lets somebody choose a session of a host: follows the list, and carries out what keys mean.

Wires the pure model to the client and to the view.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from agenthost.cli.connection.host_connection import explain_reason
from agenthost.cli.connection.session_lookup import IN_TRASH, disposed_how
from agenthost.cli.format.state_format import directory_text
from agenthost.cli.format.terminal_text import one_line
from agenthost.cli.interactive.display.styled_text import EMPTY
from agenthost.cli.interactive.outcome import ConversationOutcome, Leave, StartSession, SwitchTo
from agenthost.cli.interactive.picker import texts
from agenthost.cli.interactive.picker.model import PickerModel, SessionRow
from agenthost.cli.interactive.picker.view import PickerView, told
from agenthost.client import Client, Closed, Connected, ConnectionState, Reconnecting
from agenthost.errors import AgentHostError
from agenthost.tasks import Tasks

if TYPE_CHECKING:
    from prompt_toolkit.input import Input
    from prompt_toolkit.output import Output

# Seconds that what was begun may still take when somebody leaves.
_SETTLING = 2.0


class SessionPicker:
    """The list of a host's sessions on the screen, until one is chosen or somebody leaves."""

    def __init__(
        self,
        client: Client,
        *,
        query: str = "",
        current: str | None = None,
        new: str | None = None,
        colour: bool = True,
        output: Output | None = None,
        input: Input | None = None,
    ) -> None:
        """Make one.

        Args:
            client: of the host.
            query: what to search for at first.
            current: the session that one comes from.
            new: what the row says that starts a session.
            colour: whether to use colours.
            output: the terminal, if it is not standard output.
            input: the keyboard, if it is not standard input.
        """
        self._client = client
        me = client.me
        self._is_viewer = me is not None and me["role"] == "viewer"
        self.model = PickerModel(query, current=current)
        row = texts.READ_ONLY if self._is_viewer else new or new_session_row(client)
        self.view = PickerView(
            self.model,
            self,
            new=row,
            is_viewer=self._is_viewer,
            colour=colour,
            output=output,
            input=input,
        )
        # How it ends, once that is known.
        self._outcome: ConversationOutcome | None = None
        # What was moved to the trash here, the last of it last.
        self._trashed: list[SessionRow] = []
        # The session at work of which somebody was warned that it would end.
        self._warned: str | None = None
        self._is_lost = not isinstance(client.connection.state, Connected)
        # Whether Enter was pressed before the list was there.
        self._opens_first = False
        # What is being done to sessions.
        self._doing: set[asyncio.Task[None]] = set()
        self._tasks = Tasks(lambda error: self._leave(Leave(error)))

    async def run(self) -> ConversationOutcome:
        """Return what was chosen: a session, a new one, or to leave."""
        stop = self._client.connection.on_change(self._on_link)
        try:
            self._tasks.start(self._follow(), "follow sessions")
            await self.view.run()
            if self._doing:
                await asyncio.wait(self._doing, timeout=_SETTLING)
        finally:
            stop()
            await self._tasks.close()
        return self._outcome or Leave()

    # What the user does.

    def on_open(self) -> None:
        """Handle Enter: open what is selected."""
        if not self.model.is_known and self.model.query.strip():
            # Typed faster than the host answers: what is searched is known soon.
            self._opens_first = True
        elif self.model.selected != self.view.seen:
            # The list changed in the moment in which the key was pressed.
            self.view.redraw()
        elif self.model.selected is None:
            self.on_new()
        elif self._is_connected():
            self._leave(SwitchTo(self.model.selected))

    def on_new(self) -> None:
        """Handle Ctrl-N: start a session."""
        if self._may_change():
            self._leave(StartSession())

    def on_trash(self) -> None:
        """Handle Ctrl-X: move what is selected to the trash."""
        row = self.model.row
        if row is None or self.model.selected != self.view.seen or not self._may_change():
            return
        if row.uri == self.model.current:
            self._say("ask", texts.IS_OPEN)
        elif row.is_working and self._warned != row.uri:
            self._warned = row.uri
            self._say("ask", texts.ends_work(row.status))
        else:
            self._warned = None
            self._do(self._trash(row), row)

    def on_take_back(self) -> None:
        """Handle Ctrl-Z: take back what was moved to the trash last."""
        if not self._trashed:
            self._say("ask", texts.NOTHING_TO_TAKE_BACK)
        elif self._may_change():
            row = self._trashed.pop()
            self._do(self._take_back(row), row)

    def on_leave(self) -> None:
        """Handle Escape, Ctrl-C and Ctrl-D."""
        self._leave(Leave())

    def on_change(self) -> None:
        """Handle another search or selection."""
        self._warned = None
        # By one's own hand, so it need not be looked at first.
        self.view.seen = self.model.selected
        if not self._is_lost:
            self.view.message = EMPTY
        self.view.redraw()

    # What that leads to.

    async def _trash(self, row: SessionRow) -> None:
        await self._client.sessions.dispose(row.uri)
        if await disposed_how(self._client, row.uri) == IN_TRASH:
            self._trashed.append(row)
            self._say("dim", texts.in_trash(row.title))
        else:
            self._say("dim", texts.removed(row.title))

    async def _take_back(self, row: SessionRow) -> None:
        await self._client.sessions.restore(row.uri)
        self._say("dim", texts.restored(row.title))

    def _do(self, work: Coroutine[Any, Any, None], row: SessionRow) -> None:
        async def reported() -> None:
            try:
                await work
            except (AgentHostError, TimeoutError) as error:
                self._say("bad", texts.failed(row.title, str(error) or "no answer in time"))

        task = self._tasks.start(reported(), f"change {row.uri}")
        self._doing.add(task)
        task.add_done_callback(self._doing.discard)

    def _may_change(self) -> bool:
        """Return whether sessions can be made and removed now; say why if they cannot."""
        if self._is_viewer:
            self._say("ask", texts.READ_ONLY)
            return False
        return self._is_connected()

    def _is_connected(self) -> bool:
        if self._is_lost:
            self._say("ask", texts.NOT_CONNECTED)
        return not self._is_lost

    def _say(self, style: str, text: str) -> None:
        self.view.message = told(style, text)
        self.view.redraw()

    def _leave(self, outcome: ConversationOutcome) -> None:
        if self._outcome is None:
            self._outcome = outcome
            self.view.leave()

    # What the host tells.

    async def _follow(self) -> None:
        async for sessions in self._client.sessions.watch():
            is_first = not self.model.is_known
            self.model.update(sessions)
            if is_first and self._is_viewer and self.model.selected is None:
                # There is nothing else that could be opened.
                self.model.move(1)
            if is_first:
                self.view.seen = self.model.selected
                if self._opens_first:
                    self.on_open()
            self.view.redraw()

    def _on_link(self, state: ConnectionState) -> None:
        if isinstance(state, Reconnecting):
            self._is_lost = True
            self._say("ask", texts.lost(explain_reason(state.reason)))
        elif isinstance(state, Connected) and self._is_lost:
            self._is_lost = False
            self._say("good", texts.CONNECTED_AGAIN)
        elif isinstance(state, Closed):
            self._leave(Leave(state.error))


def new_session_row(client: Client) -> str:
    """Return what the row that starts a session says: where it would work, and who answers."""
    folder = client.host.get("defaultDirectory")
    agents = client.root.state["agents"] if client.root.has_state else []
    return texts.new_session(
        one_line(directory_text(folder)) if folder else "",
        one_line(agents[0]["displayName"]) if agents else "",
    )
