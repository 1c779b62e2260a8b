"""What this session changed in files: /diff."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from agenthost.cli.format.terminal_text import one_line, visible
from agenthost.cli.interactive.chat_actions import failure_line
from agenthost.cli.interactive.commands.chat_command import ChatCommand
from agenthost.cli.interactive.display import diffs
from agenthost.cli.interactive.display.styled_text import EMPTY, StyledLine, clip_line, line
from agenthost.cli.pager import page_if_long
from agenthost.client import Unsupported
from agenthost.errors import AgentHostError, NotFound

if TYPE_CHECKING:
    from agenthost.cli.format.diff_format import FileDiff
    from agenthost.cli.interactive.conversation import Conversation

_NOTHING = "· nothing was changed in this session, as far as the host knows"


def _diff(at: Conversation, _: str) -> None:
    at.start(_show_changes(at), "diff")


async def _show_changes(at: Conversation) -> None:
    """Show all that the session changed: in the pager, unless it is short."""
    at.hint("looking for changes…")
    try:
        files = await _changed_files(at)
    except (NotFound, Unsupported):
        # Listed as soon as there may be some.
        files = []
    except (AgentHostError, TimeoutError) as error:
        why = one_line(str(error)) or "no answer in time"
        at.note(failure_line("the changes cannot be shown", why))
        return
    finally:
        at.hint("")
    if not files:
        at.note(line(("dim", _NOTHING)))
        return
    width, rows = at.screen.size
    lines = changes_lines(files, width)
    short = await page_if_long(
        lines, title="changes of this session", screen=at.screen, rows=rows // 2
    )
    if short:
        at.note(EMPTY, *short)


async def _changed_files(at: Conversation) -> list[FileDiff]:
    from agenthost.cli.changed_files import COMPUTING, ChangedFiles

    async with await at.session.changes.open() as view:
        async with asyncio.timeout(COMPUTING):
            changed = ChangedFiles(at.session, view, await view.ready())
        return [file async for file in changed.compared(keep_returns=False)]


def changes_lines(files: Sequence[FileDiff], width: int) -> Iterator[StyledLine]:
    """Yield the diffs of files, each below its name, after how much there is in all."""
    added, removed = (sum(counts) for counts in zip(*map(_counts, files), strict=True))
    what = "1 file" if len(files) == 1 else f"{len(files):,} files"
    yield line(("bold", what), "  ", *_signed(added, removed))
    for file in files:
        yield EMPTY
        name = visible(file.path)
        renamed = f" (was {visible(file.old_path)})" if file.change == "renamed" else ""
        heading = line(("bold", name), ("dim", f"{renamed}  {file.change}  "))
        yield clip_line(line(*heading, *_signed(*_counts(file))), width)
        if file.unshown:
            yield clip_line(line(("ask", f"  {visible(file.unshown)}")), width)
        for row in file.rows:
            yield from diffs.styled([row], width)


def _counts(file: FileDiff) -> tuple[int, int]:
    return file.added or 0, file.removed or 0


def _signed(added: int, removed: int) -> StyledLine:
    return line(("good", f"+{added:,}"), " ", ("bad", f"−{removed:,}"))


COMMANDS = (ChatCommand("diff", "", "all that this session changed in files", _diff, viewer=True),)
