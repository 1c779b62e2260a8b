"""Parses ``ahp:NAME=ADDRESS`` and ``ahp:NAME=@FILE``: where a far host is, and what lets one in.

A token in a command line is seen by everybody on the machine, so it may stand in a file, which is
read anew at every attempt to connect: a far host may come back at another address.
"""

from __future__ import annotations

import re
import stat
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from agenthost.client.link.addresses import full_address
from agenthost.errors import AgentHostError

_PREFIX = "ahp:"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
_TOKEN = "tkn"
_YES = ("1", "true", "yes")
_SETTINGS = ("url", "token", "agent", "shared")
# No sensible file that names one host is longer.
_MOST_FILE = 64 * 1024


class BadFarSpec(AgentHostError):
    """A far host is named wrongly; the message says what is wrong, without the token."""


@dataclass(frozen=True, slots=True)
class FarPlace:
    """Where a far host is now, and what lets this one in."""

    # A WebSocket URL without the token, or ssh://.
    address: str
    token: str | None = None

    @property
    def shown(self) -> str:
        """The address without anything secret."""
        parts = urlsplit(self.address)
        host = parts.netloc.rpartition("@")[2]
        return urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))


@dataclass(frozen=True, slots=True)
class FarSpec:
    """A far host, as a person named it."""

    name: str
    place: FarPlace
    # The file that says where it is; None where that is fixed.
    file: Path | None = None
    # Which agent of it this is about; None for its first.
    agent: str | None = None
    # Whether its files are this machine's, so that sessions there work in the same folders.
    shares_files: bool = False

    def find(self) -> FarPlace:
        """Return where it is now; raise BadFarSpec if its file does not say."""
        return self.place if self.file is None else _from_file(self.name, self.file).place


def parse_far_spec(spec: str) -> FarSpec:
    """Read ``ahp:NAME=ws://host:port``, or ``ahp:NAME=@FILE``.

    A file is TOML: ``url``, and if wanted ``token``, ``agent`` and ``shared``. In an address they
    are parameters, the token as ``tkn``.

    Raises:
        BadFarSpec: it is not of that form, or the file cannot be read.
    """
    name, equals, where = spec.removeprefix(_PREFIX).partition("=")
    name, where = name.strip(), where.strip()
    if not spec.startswith(_PREFIX) or not equals or not where:
        raise BadFarSpec(
            "a far host is named as ahp:NAME=ws://HOST:PORT, ahp:NAME=ssh://MACHINE "
            "or ahp:NAME=@FILE"
        )
    if not _NAME.fullmatch(name):
        raise BadFarSpec(
            f"ahp:{name[:40]}: a name has up to 40 letters, digits, dots, dashes and underscores"
        )
    if where.startswith("@"):
        return _from_file(name, Path(where[1:]).expanduser())
    return _from_address(name, where)


def _from_address(name: str, address: str) -> FarSpec:
    try:
        # What we ask for here is no part of where it is.
        where, _, asked = address.partition("?")
        parts = urlsplit(full_address(where))._replace(query=asked.partition("#")[0])
    except ValueError as error:
        raise BadFarSpec(f"ahp:{name}: {error}") from error
    given = dict(parse_qsl(parts.query))
    token = given.pop(_TOKEN, None)
    agent, shared = given.pop("agent", None), given.pop("shared", "")
    rest = urlunsplit((parts.scheme, parts.netloc, parts.path, urlencode(given), ""))
    return FarSpec(
        name, FarPlace(rest, token), agent=agent or None, shares_files=shared.lower() in _YES
    )


def _from_file(name: str, path: Path) -> FarSpec:
    settings = _settings(name, path)
    spec = _from_address(name, settings["url"])
    token = settings.get("token", spec.place.token)
    if token is not None and path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise BadFarSpec(f"ahp:{name}: others can read the token in {path}; chmod 600 it")
    return replace(
        spec,
        place=replace(spec.place, token=token),
        file=path,
        agent=settings.get("agent", spec.agent),
        shares_files=settings.get("shared", spec.shares_files),
    )


def _settings(name: str, path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            text = file.read(_MOST_FILE).decode()
        settings = tomllib.loads(text)
    except OSError as error:
        raise BadFarSpec(f"ahp:{name}: {path} cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        # Its own words may quote the line, and that may be the token's.
        raise BadFarSpec(f"ahp:{name}: {path} is not TOML") from error
    for key, value in settings.items():
        if key not in _SETTINGS:
            raise BadFarSpec(f"ahp:{name}: {path} says {key!r}; it may say {', '.join(_SETTINGS)}")
        if not isinstance(value, bool if key == "shared" else str):
            raise BadFarSpec(f"ahp:{name}: {key} in {path} is of the wrong kind")
    if not settings.get("url"):
        raise BadFarSpec(f"ahp:{name}: {path} names no url")
    return settings
