"""How a shell is started in a terminal: which one, with what variables, with what integration."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

INTEGRATION = Path(__file__).with_name("integration")

_FALLBACKS = ("/bin/bash", "/bin/sh")
# What says something of the terminal that the host itself was started in, or of its folder.
_OF_ANOTHER_TERMINAL = frozenset(
    {
        "COLUMNS", "INSIDE_EMACS", "LINES", "OLDPWD", "PWD", "STY", "TERM_PROGRAM",
        "TERM_PROGRAM_VERSION", "TMUX", "TMUX_PANE", "VTE_VERSION", "WINDOWID",
    }
)  # fmt: skip
# For shells and commands of agents: nothing that waits for a key, nothing that asks.
_UNATTENDED = {
    "DEBIAN_FRONTEND": "noninteractive",
    "GIT_PAGER": "",
    "GIT_TERMINAL_PROMPT": "0",
    "PAGER": "",
}


class ShellLaunch(Struct, frozen=True):
    """What to start for a shell, and the secret by which its marks are known."""

    words: tuple[str, ...]
    env: Mapping[str, str]
    # None = this shell does not tell its commands by a script of ours.
    nonce: str | None = None


def find_shell(wanted: str | None, given: Mapping[str, str]) -> str:
    """Return the wanted shell, else the user's own, else one that is there."""
    candidates = (wanted, given.get("SHELL"), *_FALLBACKS)
    for shell in candidates:
        if shell and is_shell(shell):
            return shell
    return _FALLBACKS[-1]


def is_shell(path: str) -> bool:
    """Whether a path is absolute and names something that can be run."""
    return os.path.isabs(path) and os.path.isfile(path) and os.access(path, os.X_OK)


def terminal_environment(
    given: Mapping[str, str], shell: str, *, unattended: bool = False
) -> dict[str, str]:
    """Return the variables for a terminal: those given, freed of what is the host's own."""
    env = {
        name: value
        for name, value in given.items()
        if not name.startswith(("AGENTHOST_", "AHP_SI_", "VSCODE_"))
        and name not in _OF_ANOTHER_TERMINAL
    }
    env |= {"TERM": "xterm-256color", "COLORTERM": "truecolor", "SHELL": shell}
    locale = env.get("LC_ALL") or env.get("LC_CTYPE") or env.get("LANG") or ""
    if "utf" not in locale.lower():
        # The stronger ones would win.
        env.pop("LC_ALL", None)
        env["LC_CTYPE"] = "C.UTF-8"
    return {**env, **_UNATTENDED} if unattended else env


def interactive(shell: str, given: Mapping[str, str], *, unattended: bool = False) -> ShellLaunch:
    """Return how to start an interactive shell that tells its commands, if it is able to."""
    env = terminal_environment(given, shell, unattended=unattended)
    nonce = secrets.token_hex(16)
    ours = {"AHP_SI_NONCE": nonce, **({"AHP_SI_AGENT": "1"} if unattended else {})}
    name = os.path.basename(shell)
    if name == "bash":
        script = str(INTEGRATION / "bash.sh")
        return ShellLaunch((shell, "--init-file", script, "-i"), {**env, **ours}, nonce)
    if name == "zsh":
        ours |= {"AHP_SI_ZDOTDIR": env.get("ZDOTDIR", ""), "ZDOTDIR": str(INTEGRATION / "zsh")}
        return ShellLaunch((shell, "-i"), {**env, **ours}, nonce)
    return ShellLaunch((shell, "-i"), env)


def one_command(
    command: str | Sequence[str],
    shell: str,
    given: Mapping[str, str],
    added: Mapping[str, str] | None = None,
) -> ShellLaunch:
    """Return how to run one command, a line for the shell or a program and its arguments.

    Variables that are ``added`` for it stay as they are, whatever a terminal's usually are.
    """
    words = (shell, "-c", command) if isinstance(command, str) else tuple(command)
    env = terminal_environment(given, shell, unattended=True)
    return ShellLaunch(words, {**env, **(added or {})})
