"""``python -m interop.vscode TOOLS``: run VS Code against our host and say what was seen.

Takes a few minutes and some gigabytes of memory; bounded in time. Exits with 0 only if everything
was seen. Pictures, wire logs and the logs of all processes are left in ``TOOLS/run``.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import shutil
import signal
import sys
import time
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interop.vscode.alone import go_alone
from interop.vscode.desk import Desk, Scenario
from interop.vscode.prepare import Missing, Tools
from interop.vscode.processes import ServedHost, VSCodeServer
from interop.vscode.repository import make_repository
from interop.vscode.scenarios import SCENARIOS
from interop.vscode.window import NotSeen, Window

__all__ = ["main"]

# Seconds for all, and for one scenario.
WHOLE = 600.0
ONE = 75.0
# No name leads out of the machine.
RESOLVER = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
WIDTH, HEIGHT = 1400, 900


@dataclass(frozen=True)
class Verdict:
    """What became of one scenario."""

    name: str
    seconds: float
    # Why it was not seen; empty if it was.
    problems: tuple[str, ...]
    # Whether it broke off: nobody knows what the window shows then.
    broken: bool

    def __str__(self) -> str:
        told = "; ".join(self.problems)
        return f"{self.name:26} {self.seconds:4.0f} s  " + (f"NOT SEEN: {told}" if told else "seen")


def main() -> int:
    """Run the scenarios; 0 when all were seen, 1 otherwise."""
    parser = argparse.ArgumentParser(prog="python -m interop.vscode", description=__doc__)
    parser.add_argument("tools", type=Path, help="the folder that prepare has filled")
    parser.add_argument("--agenthost", type=Path, required=True, help="the command to be tried")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="scenarios, besides the first")
    args = parser.parse_args()
    try:
        tools = Tools(args.tools)
        tools.node(), tools.chromium()
    except Missing as missing:
        sys.exit(f"make vscode: {missing}")
    chosen = {
        name: scenario
        for number, (name, scenario) in enumerate(SCENARIOS.items())
        if not args.only or number == 0 or name in args.only
    }
    go_alone()
    return asyncio.run(_bounded(tools, args.agenthost.absolute(), chosen))


async def _bounded(tools: Tools, agenthost: Path, scenarios: dict[str, Scenario]) -> int:
    task = asyncio.current_task()
    assert task is not None
    # However it is ended, everything that it started ends too.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    folder = tools.folder / "run"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    verdicts: list[Verdict] = []
    try:
        async with asyncio.timeout(WHOLE):
            await _play(tools, agenthost, folder, scenarios, verdicts)
    except TimeoutError:
        print(f"the whole run took longer than {WHOLE:.0f} s", flush=True)
    except asyncio.CancelledError:
        print("ended from outside", flush=True)
    seen = sum(not verdict.problems for verdict in verdicts)
    print(f"\n{seen} of {len(scenarios)} seen; pictures and logs in {folder}")
    return 0 if seen == len(scenarios) else 1


async def _play(
    tools: Tools,
    agenthost: Path,
    folder: Path,
    scenarios: dict[str, Scenario],
    verdicts: list[Verdict],
) -> None:
    async with AsyncExitStack() as stack:
        server = VSCodeServer(tools, folder)
        make_repository(server.workspace)
        host = ServedHost(agenthost, folder, server.workspace, server.origin)
        stack.push_async_callback(host.stop)
        await host.serve()
        stack.push_async_callback(server.stop)
        await server.serve(host)
        page = await _browser(stack, tools, folder)
        window = Window(page, folder)
        await window.open(server.page)
        desk = Desk(window, host, server)
        for name, scenario in scenarios.items():
            verdicts.append(await _verdict(desk, name, scenario))
            print(verdicts[-1], flush=True)
            if not verdicts[-1].broken:
                continue
            if len(verdicts) == 1:
                # Without a session there is nothing more to see.
                return
            with suppress(Exception):
                async with asyncio.timeout(ONE):
                    await window.recover()


async def _browser(stack: AsyncExitStack, tools: Tools, folder: Path) -> Any:
    # Not at the top: it is there only where prepare has put it.
    from playwright.async_api import async_playwright

    playwright = await stack.enter_async_context(async_playwright())
    browser = await playwright.chromium.launch(
        executable_path=str(tools.chromium()),
        args=["--no-sandbox", "--disable-gpu", RESOLVER],
        handle_sigint=False,
        handle_sigterm=False,
        handle_sighup=False,
    )
    stack.push_async_callback(browser.close)
    page = await browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
    console = stack.enter_context((folder / "console.log").open("w"))
    page.on("console", lambda said: print(said.type, said.text[:2000], file=console, flush=True))
    page.on("pageerror", lambda error: print("error", error, file=console, flush=True))
    return page


async def _verdict(desk: Desk, name: str, scenario: Scenario) -> Verdict:
    from playwright.async_api import Error

    desk.host.wire.refresh()
    desk.since = len(desk.host.wire.entries)
    began = time.monotonic()
    problems: list[str] = []
    try:
        async with asyncio.timeout(ONE):
            await scenario(desk)
            await desk.wire(lambda: not desk.host.wire.unanswered(), "a request is not answered")
    except NotSeen as missing:
        problems.append(str(missing).replace("\n", " "))
    except TimeoutError:
        problems.append(f"not within {ONE:.0f} s")
    except Error as error:
        problems.append(error.message.split("\n")[0] + _waiting_for(error.message))
    except OSError as error:
        problems.append(str(error))
    broken = bool(problems)
    desk.host.wire.refresh()
    problems += [*desk.host.wire.wrongs(desk.since), *desk.host.wire.unanswered()]
    with suppress(Exception):
        await desk.window.picture(re.sub(r"\W+", "-", name).strip("-"))
    return Verdict(name, time.monotonic() - began, tuple(problems), broken)


def _waiting_for(message: str) -> str:
    found = re.search(r"waiting for (.*)", message)
    return f" ({found[1]})" if found else ""


if __name__ == "__main__":
    sys.exit(main())
