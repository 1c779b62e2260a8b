"""Takes the documents' pictures of the terminal: ``docs/pictures/terminal*.svg``.

``python -m tools.pictures`` starts a host with an agent that always says the same, chats with it in
tmux, wide and narrow, and writes what the terminal shows as SVG, for dark and for light pages: text
stays text, and nothing is loaded from elsewhere. Needs tmux, and the package ``rich``.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from agenthost.agents import Agent, Turn

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"

WORK = Path(tempfile.gettempdir()) / "parser"
"""The folder that the agent works in; its name is in the pictures."""

MOST_BYTES = 40 * 1024
"""What a picture may weigh."""

# Seconds until something has to be seen; the machine may be busy.
_PATIENCE = 90.0

# What the page's own fonts are; rich would have them loaded from elsewhere.
_FONT_FACE = re.compile(r"@font-face\s*\{.*?\}", re.DOTALL)
_FONT = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"


@dataclass(frozen=True)
class Size:
    """A terminal of some size, and what its picture is called."""

    name: str
    columns: int
    rows: int


WIDE, NARROW = Size("terminal", 120, 34), Size("terminal-narrow", 40, 30)
PICKER = Size("sessions", 120, 16)

SIZES = (WIDE, NARROW, PICKER)
"""The terminals that pictures are taken of."""

QUESTION = "The parser drops the last line. Can you fix it?"
# What was asked in other sessions.
ASKED = ("Write the notes for 2.0", "Why is the first request slow?", "Rename entries to items")

BEFORE = '''\
def entries(text):
    """Yield the entries of a list, one to a line."""
    start = 0
    while (end := text.find("\\n", start)) >= 0:
        yield text[start:end].strip()
        start = end + 1
'''
AFTER = '''\
def entries(text):
    """Yield the entries of a list, one to a line."""
    for line in text.splitlines():
        yield line.strip()
'''
ANSWER = """\
A last line **without a newline** is never found:

| Input | Entries now | Should be |
|-------|-------------|-----------|
| `a\\n` | 1 | 1 |
| `a\\nb` | 1 | 2 |

`splitlines` knows such ends:

```python
list(entries("a\\nb")) == ["a", "b"]  # True
```

"""


class PicturedAgent(Agent):
    """Says the same always, with a table, code and an edit that waits for a yes."""

    provider, display_name = "helper", "Helper"
    models = ({"id": "small", "provider": "helper", "name": "Small", "maxContextWindow": 128_000},)

    async def run(self, turn: Turn) -> None:
        """Answer, and ask for an edit."""
        await turn.write(ANSWER)
        await turn.report_usage({"inputTokens": 11_800, "outputTokens": 640, "model": "small"})
        async with turn.tool("edit", display_name="Edit parser.py") as call:
            await call.edit("parser.py", AFTER)


class Tmux:
    """A terminal in a tmux of our own."""

    def __init__(self, size: Size, folder: Path) -> None:
        self._socket = folder / f"{size.name}.socket"
        self._size = size

    def run(self, *words: str) -> str:
        """Run a command of tmux and return what it prints."""
        command = ["tmux", "-S", str(self._socket), "-f", os.devnull, *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    @contextlib.contextmanager
    def running(self, command: Sequence[str], folder: Path) -> Iterator[None]:
        """Run a command in it for the length of a block."""
        size = ("-x", str(self._size.columns), "-y", str(self._size.rows))
        line = f"stty -ixon; exec {shlex.join(command)}"
        self.run("new-session", "-d", "-s", "0", *size, "-c", str(folder), line)
        try:
            yield
        finally:
            self.run("kill-server")

    def see(self, text: str) -> None:
        """Wait until a text is on the screen, its lines joined."""
        deadline = time.monotonic() + _PATIENCE
        while text not in " ".join(self.run("capture-pane", "-p").split()):
            if time.monotonic() > deadline:
                sys.exit(f"{text!r} is not to be seen in:\n{self.run('capture-pane', '-p')}")
            time.sleep(0.1)

    def screen(self) -> str:
        """Return what is on the screen, with its colours."""
        return self.run("capture-pane", "-e", "-p").rstrip("\n")


@contextlib.contextmanager
def host(folder: Path) -> Iterator[None]:
    """Run a host with the pictured agent for the length of a block."""
    command = [sys.executable, "-m", "agenthost.cli.main", "serve", "--port", "0"]
    command += ["--data-dir", str(folder / "data"), "--root", str(WORK)]
    command += ["--agent", "tools.pictures:PicturedAgent", "--set", "defaultAgent=helper"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + _PATIENCE
        while not (folder / "data" / "host.json").exists():
            if process.poll() is not None or time.monotonic() > deadline:
                sys.exit("the host did not start")
            time.sleep(0.1)
        yield
    finally:
        process.terminate()
        process.wait()


def take_chat(size: Size, folder: Path) -> str:
    """Chat in a terminal of some size until the edit waits, and return its screen."""
    (WORK / "parser.py").write_text(BEFORE)
    tmux = Tmux(size, folder)
    chat = _command(folder, "chat", "--new", "--agent", "helper", "--model", "small")
    with tmux.running([*chat, "--dir", str(WORK)], WORK):
        tmux.see("/help")
        tmux.run("send-keys", "-l", QUESTION)
        tmux.run("send-keys", "Enter")
        tmux.see("+2 ")
        tmux.see("approve?")
        return tmux.screen()


def take_picker(size: Size, folder: Path) -> str:
    """Look at the list of sessions, some of which wait, and return its screen."""
    for text in ASKED:
        # Nobody approves of the edit, which `send` says by its exit code.
        subprocess.run(
            _command(folder, "send", text, "--dir", str(WORK), "--quiet"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    tmux = Tmux(size, folder)
    with tmux.running(_command(folder, "chat"), WORK):
        tmux.see(ASKED[-1])
        return tmux.screen()


def _command(folder: Path, *words: str) -> list[str]:
    variables = [f"PYTHONPATH={ROOT}", "AGENTHOST_NO_HISTORY=1"]
    agenthost = [sys.executable, "-m", "agenthost.cli.main", *words]
    return ["env", *variables, *agenthost, "--data-dir", str(folder / "data")]


def draw(screen: str, size: Size, *, dark: bool) -> str:
    """Return a screen as an SVG that needs nothing else."""
    from rich.console import Console
    from rich.terminal_theme import DEFAULT_TERMINAL_THEME, MONOKAI
    from rich.text import Text

    with open(os.devnull, "w") as nowhere:
        console = Console(
            record=True,
            width=size.columns,
            file=nowhere,
            force_terminal=True,
            color_system="truecolor",
            legacy_windows=False,
        )
        lines = screen.split("\n")
        console.print(Text.from_ansi("\n".join(lines + [""] * (size.rows - len(lines)))))
        theme = MONOKAI if dark else DEFAULT_TERMINAL_THEME
        # A fixed name for its styles: the same screen makes the same file.
        svg = console.export_svg(title="agenthost chat", theme=theme, unique_id=size.name)
    svg = _FONT_FACE.sub("", svg).replace("Fira Code, monospace", _FONT)
    # A white edge is none on a white page.
    return svg if dark else svg.replace("rgba(255,255,255,0.35)", "rgba(0,0,0,0.25)")


def main(arguments: Sequence[str] | None = None) -> int:
    """Take all pictures."""
    argparse.ArgumentParser(prog="python -m tools.pictures", description=__doc__).parse_args(
        arguments
    )
    WORK.mkdir()
    try:
        with tempfile.TemporaryDirectory(prefix="agenthost-") as name, host(Path(name)):
            screens = {size: take_chat(size, Path(name)) for size in (WIDE, NARROW)}
            screens[PICKER] = take_picker(PICKER, Path(name))
    finally:
        shutil.rmtree(WORK)
    for size, screen in screens.items():
        for dark in (True, False):
            picture = PICTURES / f"{size.name}{'' if dark else '-light'}.svg"
            picture.write_text(draw(screen, size, dark=dark))
            weight = picture.stat().st_size
            print(f"{picture.relative_to(ROOT)}  {weight / 1024:.0f} KB")
            if weight > MOST_BYTES:
                sys.exit(f"that is more than {MOST_BYTES // 1024} KB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
