"""Replaces ``${…}`` in declarations of MCP servers by what this host is willing to give.

That is folders, and what the declaration itself says about its environment. What it wants of the
host's own environment stays in it as ``${env:NAME}``: a file in a repository could send secrets
anywhere by a URL, so whoever starts the server decides whether it is given them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from agenthost.errors import AgentHostError, shortened

_VARIABLE = re.compile(r"\$\{([^${}]*)\}")
_HOST_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}")
_HOST_VARIABLE = re.compile(rf"\$\{{env:({_HOST_NAME.pattern})\}}")
# Others may be anything: a local variable of a script, a place in a template.
_USUAL_NAME = re.compile(r"[A-Z_][A-Z0-9_]*")
# What the host itself is configured and entered by.
_OWN_PREFIX = "AGENTHOST_"
# What a value may become.
_LONGEST = 32 * 1024
_FOLDERS = {
    "workspaceFolder": "folder",
    "CLAUDE_PROJECT_DIR": "folder",
    "PLUGIN_ROOT": "plugin",
    "CLAUDE_PLUGIN_ROOT": "plugin",
}
# What only an editor could answer, and what for.
_ASKING = {
    "input": "an input",
    "config": "an editor's setting",
    "command": "an editor's command",
}


class UnknownVariable(AgentHostError):
    """A declaration needs something that this host does not give; says what."""


class Variables(Struct, frozen=True):
    """What the variables of a declaration stand for."""

    # The working directory and the plugin's, where these are folders of this machine.
    folder: str | None = None
    plugin: str | None = None
    # What the declaration itself says about its environment.
    env: Mapping[str, str] = field(default_factory=dict)

    def with_env(self, env: Mapping[str, str]) -> Variables:
        """Return these with the environment that a declaration gives its server."""
        # One that names others would have to be replaced again and again.
        plain = {
            name: value for name, value in env.items() if "${" not in _HOST_VARIABLE.sub("", value)
        }
        return replace(self, env=plain)

    def expanded(self, text: str, *, lenient: bool = False, shell: bool = False) -> str:
        """Return a text with its variables replaced.

        ``lenient`` leaves alone what does not look like a variable of an environment; ``shell``
        every unknown ``${NAME}``, which is meant for that shell.

        Raises:
            UnknownVariable: it needs something that is not given.
        """
        if "${" not in text:
            return text
        pieces: list[str] = []
        reached = length = 0
        for found in _VARIABLE.finditer(text):
            pieces += (text[reached : found.start()], self._value(found, lenient, shell))
            reached = found.end()
            length += len(pieces[-2]) + len(pieces[-1])
            # At once: a thousand times a long value is more than there is memory.
            if length > _LONGEST:
                raise UnknownVariable(f"{shortened(text)} becomes too long")
        return "".join((*pieces, text[reached:]))

    def _value(self, found: re.Match[str], lenient: bool, shell: bool) -> str:
        name = found.group(1)
        if name in _FOLDERS:
            return self._folder(name)
        before, colon, behind = name.partition(":")
        if colon and before in _ASKING:
            raise UnknownVariable(f"it asks for {_ASKING[before]} (${{{shortened(name)}}})")
        if colon and before == "env":
            return self._environment(behind)
        wanted, has_default, default = name.partition(":-")
        if wanted in self.env:
            return self.env[wanted]
        if has_default:
            return default
        if shell or (lenient and _USUAL_NAME.fullmatch(name) is None):
            return found.group()
        return self._environment(name)

    def _folder(self, name: str) -> str:
        path: str | None = getattr(self, _FOLDERS[name])
        if path is None:
            raise UnknownVariable(f"there is no folder on this machine for ${{{name}}}")
        return path

    def _environment(self, name: str) -> str:
        if name in self.env:
            return self.env[name]
        if _HOST_NAME.fullmatch(name) is None or name.upper().startswith(_OWN_PREFIX):
            raise UnknownVariable(
                f"it needs {shortened(name) or 'a variable'} of the host's environment, which "
                "servers are not given; write the value under `env`"
            )
        return f"${{env:{name}}}"


def host_variables(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the variables of the host's environment that texts want, in one order always."""
    return tuple(sorted({name for text in texts for name in _HOST_VARIABLE.findall(text)}))
