"""What ``--help`` says: it fits a screen, and shows how a command is used."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterator

import pytest

from agenthost.cli.arguments import HelpFormatter, HostOption
from agenthost.cli.commands.help import CONNECTING
from agenthost.cli.main import build_parser, main

# What a usual terminal shows at once.
COLUMNS, ROWS = 80, 40
# What ends a command line in an example, besides two blanks before an explanation.
OPERATORS = ("|", ">", "<", "&", "&&", ")")

Tree = dict[str, argparse.ArgumentParser]


def verbs_of(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices.items()


def parsers(name: str, parser: argparse.ArgumentParser) -> Iterator[tuple[str, Tree]]:
    yield name, {name: parser}
    for verb, below in verbs_of(parser):
        yield from parsers(f"{name} {verb}", below)


WHOLE = build_parser()
ALL = {name: tree[name] for name, tree in parsers("agenthost", WHOLE)}


@pytest.fixture(autouse=True)
def usual_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(COLUMNS))


def example_lines(parser: argparse.ArgumentParser) -> list[str]:
    """The command lines of the examples, without explanations."""
    _, _, text = parser.format_help().partition("\nexamples:\n")
    block = re.sub(r"\\\n\s+", "", text.partition("\n\n")[0])
    return [line.strip() for line in block.splitlines() if line.startswith("  ")]


def words_of(line: str) -> list[str] | None:
    """The words behind ``agenthost``; None where a line begins otherwise, as with another's."""
    found = re.search(r"^agenthost (.*)|<\(agenthost (.*)\)|[|;] *agenthost (.*)", line)
    if found is None:
        return None
    command = next(filter(None, found.groups()))
    # What follows two blanks is an explanation.
    words = shlex.split(re.split(r" {2,}", command)[0].replace("$(date +%F)", "today"))
    ends = [at for at, word in enumerate(words) if word in OPERATORS]
    return words[: ends[0]] if ends else words


@pytest.mark.parametrize("name", ALL)
def test_help_fits_a_screen_and_has_an_example(name: str) -> None:
    rows = ALL[name].format_help().splitlines()
    assert len(rows) <= ROWS, f"{len(rows)} rows"
    assert [row for row in rows if len(row) > COLUMNS] == []
    examples = example_lines(ALL[name])
    assert any(name in line for line in examples), "no example of itself"


@pytest.mark.parametrize("name", ALL)
def test_every_example_can_be_parsed(
    name: str, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Where the files are that some of them name.
    folder = tmp_path_factory.mktemp("examples")
    for file in ("cert.pem", "key.pem", "wire.jsonl", "notes.txt"):
        (folder / file).touch()
    (folder / "src").mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(folder))
    for line in example_lines(ALL[name]):
        words = words_of(line)
        if words is not None:
            assert WHOLE.parse_args(words).command == words[0], line


def test_commands_and_verbs_lay_their_help_out_alike() -> None:
    for name, parser in ALL.items():
        assert parser.formatter_class is HelpFormatter, name


def test_options_that_name_the_host_are_one_row_that_leads_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shown = ALL["agenthost sessions show"].format_help()
    assert len(re.findall("--url", shown)) == 1
    assert "agenthost help connecting" in shown
    assert main(["help", "connecting"]) == 0
    said = capsys.readouterr().out
    options = [each for each in ALL["agenthost doctor"]._actions if isinstance(each, HostOption)]
    assert len(options) == 4
    for option in options:
        assert re.search(rf"^  {option.option_strings[0]} ", said, re.MULTILINE)


def test_what_connecting_says_fits_a_screen_and_can_be_typed() -> None:
    rows = CONNECTING.splitlines()
    assert len(rows) <= ROWS
    assert [row for row in rows if len(row) > COLUMNS] == []
    for line in re.findall(r"`agenthost ([^`]+)`", CONNECTING):
        WHOLE.parse_args(line.split())


def test_help_of_a_command_is_what_the_command_says_of_itself(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for words in (["doctor"], ["mcp", "call"], []):
        with pytest.raises(SystemExit) as asked:
            main(["help", *words])
        said = capsys.readouterr().out
        with pytest.raises(SystemExit):
            main([*words, "--help"])
        assert (asked.value.code, said) == (0, capsys.readouterr().out)
    with pytest.raises(SystemExit) as unknown:
        main(["help", "nonsense"])
    assert unknown.value.code == 2
    assert "nonsense" in capsys.readouterr().err
