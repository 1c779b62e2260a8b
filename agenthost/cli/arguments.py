"""Arguments that commands share: commands, verbs and their help, options, types of values."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

JSON_EVENT = "json_event"
"""The default that says that a command's JSON comes in lines with an ``event``."""

Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

# The column in which explanations begin; whatever is longer has a row of its own.
_HELP_COLUMN = 26
# More options than these are not repeated above the list of them; --help is one.
_MOST_OPTIONS = 5


class HostOption(argparse.Action):
    """An option that says which host a command is for; ``agenthost help connecting`` explains it.

    Nearly all commands have the same four, so that their help names them in one row.
    """

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, value: Any, *_: Any
    ) -> None:
        """Set the value."""
        setattr(namespace, self.dest, value)


class NodeOption(HostOption):
    """An option that counts with ``--cluster`` alone; ``agenthost help cluster`` explains it."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, value: Any, *_: Any
    ) -> None:
        """Set the value, or add it where there may be several."""
        before = getattr(namespace, self.dest)
        setattr(namespace, self.dest, [*before, value] if isinstance(before, list) else value)


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Lays out a command's help so that it fits a screen."""

    def __init__(self, prog: str, **options: Any) -> None:
        super().__init__(prog, max_help_position=_HELP_COLUMN, **options)

    def add_usage(
        self, usage: str | None, actions: Iterable[argparse.Action], *more: Any, **options: Any
    ) -> None:
        """Add the usage, without the options that name the host; many options are one word."""
        shown = _without_host(actions)
        if usage is None and sum(bool(action.option_strings) for action in shown) > _MOST_OPTIONS:
            words = [self._shown(action) for action in shown if _must_be_shown(action)]
            usage = " ".join(["%(prog)s [OPTION ...]", *words])
        super().add_usage(usage, shown, *more, **options)

    def _shown(self, action: argparse.Action) -> str:
        """Return how an argument is written."""
        if not action.option_strings:
            return self._format_args(action, self._get_default_metavar_for_positional(action))
        value = self._format_args(action, self._get_default_metavar_for_optional(action))
        return f"{action.option_strings[0]} {value}"

    def add_arguments(self, actions: Iterable[argparse.Action]) -> None:
        """Add explanations, but of the options that name the host."""
        super().add_arguments(_without_host(actions))

    def _format_action(self, action: argparse.Action) -> str:
        text = super()._format_action(action)
        # What says nothing but that a command is called COMMAND is not worth a row.
        is_bare = action.nargs == argparse.PARSER and action.help is None
        return text.partition("\n")[2] if is_bare else text


def _must_be_shown(action: argparse.Action) -> bool:
    return action.required or not action.option_strings


def _without_host(actions: Iterable[argparse.Action]) -> list[argparse.Action]:
    return [action for action in actions if not isinstance(action, HostOption)]


def add_command(
    subparsers: Subparsers,
    name: str,
    help: str,
    run: Callable[[argparse.Namespace], int],
    examples: str | None = None,
) -> argparse.ArgumentParser:
    """Add a command to the argument tree and return its parser."""
    parser = subparsers.add_parser(name, help=help, epilog=examples, formatter_class=HelpFormatter)
    parser.set_defaults(run=run)
    return parser


def add_verb(verbs: Subparsers, name: str, help: str, *examples: str) -> argparse.ArgumentParser:
    """Add a verb to a command, with whole command lines as examples; return its parser."""
    return verbs.add_parser(
        name,
        help=help,
        description=help,
        epilog="\n  ".join(["examples:", *examples]),
        formatter_class=HelpFormatter,
    )


def add_data_dir_option(
    parser: argparse.ArgumentParser, what: str = "the host's data directory"
) -> None:
    """Add ``--data-dir`` to a command that works on the files there; None = the user's own."""
    # Not before a command is loaded, which --version does without.
    from agenthost.local_host import DATA_DIR_VARIABLE

    parser.add_argument(
        "--data-dir",
        metavar="DIR",
        type=Path,
        help=f"{what} (default: ${DATA_DIR_VARIABLE}, or the user's own)",
    )


def add_json_option(
    parser: argparse.ArgumentParser,
    what: str = "print JSON",
    *,
    inherited: bool = False,
    events: bool = False,
) -> None:
    """Add ``--json``; ``events`` is for lines that say in ``event`` what they are."""
    parser.add_argument(
        "--json",
        action="store_true",
        default=argparse.SUPPRESS if inherited else False,
        help=what,
    )
    if events:
        parser.set_defaults(**{JSON_EVENT: True})


# Types of values.


def seconds(text: str) -> float:
    """Read a number of seconds from 0 on."""
    with suppress(ValueError):
        number = float(text)
        if 0 <= number < float("inf"):
            return number
    raise argparse.ArgumentTypeError("must be a number of seconds, 0 or more")


def positive_seconds(text: str) -> float:
    """Read a number of seconds above 0."""
    with suppress(argparse.ArgumentTypeError):
        if number := seconds(text):
            return number
    raise argparse.ArgumentTypeError("must be a number of seconds above 0")


def count(text: str) -> int:
    """Read a whole number from 1 on."""
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise argparse.ArgumentTypeError("must be a whole number, 1 or more")
    return int(text)


def port(text: str) -> int:
    """Read the number of a port; 0 stands for a free one."""
    with suppress(ValueError):
        number = int(text)
        if 0 <= number <= 65535:
            return number
    raise argparse.ArgumentTypeError("must be a port from 0 to 65535")


def setting(text: str) -> tuple[str, str]:
    """Read the name of a setting and what it is to be."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise argparse.ArgumentTypeError("must be KEY=VALUE")
    return key.strip(), value


def existing_file(text: str) -> Path:
    """Read the path of a file that is there."""
    path = Path(text).expanduser()
    if not path.exists():
        raise argparse.ArgumentTypeError(f"there is no file {text}")
    return path


def directory(text: str) -> Path:
    """Read the path of a directory that is there."""
    path = Path(text).expanduser()
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"{text} is not a directory")
    return path.resolve()
