from __future__ import annotations

import argparse
import json
import stat
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agenthost.cli.commands import token
from agenthost.tokens import Role, TokenBook
from tests.cli.in_process import CommandInProcess

NOW = 1_800_000_000.0


class Command(CommandInProcess):
    """Runs ``agenthost token …`` in this process."""

    def __init__(self, data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
        super().__init__("token", token.register, data_dir, capsys)

    @property
    def book(self) -> TokenBook:
        return TokenBook(self.data_dir / "tokens.json")


@pytest.fixture
def command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Command:
    monkeypatch.setattr(time, "time", lambda: NOW)
    return Command(tmp_path / "data", capsys)


def test_create_prints_the_secret_alone_and_explains_beside_it(command: Command) -> None:
    code, out, err = command("create", "phone", "--role", "operator", "--expires", "30d")
    secret = out.strip()
    assert code == 0
    assert out == secret + "\n"
    assert secret not in err
    assert "operator" in err
    assert "2027-02-14 08:00 UTC" in err
    entry = command.book.find(secret, NOW)
    assert entry is not None
    assert (entry.name, entry.role) == ("phone", Role.OPERATOR)
    assert stat.S_IMODE((command.data_dir / "tokens.json").stat().st_mode) == 0o600


def test_a_token_allows_the_least_unless_told_otherwise_and_lasts(command: Command) -> None:
    command("create", "phone")
    [entry] = command.book.list()
    assert entry.role is Role.VIEWER
    assert entry.expires is None


def test_create_can_answer_in_json(command: Command) -> None:
    code, out, err = command("create", "ci", "--role", "owner", "--expires", "12h", "--json")
    made = json.loads(out)
    assert code == 0
    assert err == ""
    assert command.book.find(made.pop("token"), NOW) is not None
    assert made == {
        "name": "ci",
        "role": "owner",
        "created": "2027-01-15T08:00:00+00:00",
        "expires": "2027-01-15T20:00:00+00:00",
        "expired": False,
    }


def test_list_shows_everything_but_secrets(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, out, _ = command("create", "phone", "--expires", "1h")
    command("create", "a-longer-name", "--role", "owner")
    monkeypatch.setattr(time, "time", lambda: NOW + 7_200)
    code, listed, err = command("list")
    assert code == 0
    assert err == ""
    assert listed.splitlines() == [
        "NAME           ROLE    CREATED               EXPIRES",
        "phone          viewer  2027-01-15 08:00 UTC  2027-01-15 09:00 UTC (expired)",
        "a-longer-name  owner   2027-01-15 08:00 UTC  never",
    ]
    code, listed, _ = command("list", "--json")
    assert [(row["name"], row["expired"]) for row in json.loads(listed)] == [
        ("phone", True),
        ("a-longer-name", False),
    ]
    digests = [entry.digest for entry in command.book.list()]
    assert not any(hidden in listed for hidden in (out.strip(), *digests))


def test_list_of_nothing_is_no_failure(command: Command) -> None:
    assert command("list") == (
        0,
        "",
        "There are no named tokens; `agenthost token create --help` says how to make one.\n",
    )
    assert command("list", "--json") == (0, "[]\n", "")
    assert not command.data_dir.exists()


def test_revoke_makes_the_secret_useless(command: Command) -> None:
    _, out, _ = command("create", "phone")
    code, _, err = command("revoke", "phone")
    assert code == 0
    assert "phone" in err
    assert command.book.find(out.strip(), NOW) is None


def test_revoke_can_answer_in_json(command: Command) -> None:
    command("create", "phone", "--role", "operator")
    code, out, err = command("revoke", "phone", "--json")
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert (told["name"], told["role"]) == ("phone", "operator")


@pytest.mark.parametrize(
    "arguments",
    [
        ("create", "two words"),
        ("create", "owner"),
        ("create", "phone", "--role", "king"),
        ("create", "phone", "--expires", "soon"),
        ("create", "phone", "--expires", "2020-01-01"),
        ("create", "phone", "--expires", "0d"),
        ("create", "phone", "--expires", "999999w"),
        ("create",),
        ("revoke",),
        ("rename", "phone"),
        (),
    ],
)
def test_misuse_ends_with_2_an_explanation_and_no_change(
    command: Command, arguments: tuple[str, ...]
) -> None:
    code, out, err = command(*arguments)
    assert code == 2
    assert out == ""
    assert err
    assert not command.data_dir.exists()


def test_a_failure_ends_with_1_and_one_line(command: Command) -> None:
    command("create", "phone")
    failures = [command("create", "phone"), command("revoke", "ghost")]
    (command.data_dir / "tokens.json").write_text("{")
    failures += [command("list"), command("create", "tablet"), command("revoke", "phone")]
    for code, out, err in failures:
        assert code == 1
        assert out == ""
        assert err.startswith("agenthost: ")
        assert err.count("\n") == 1
    assert (command.data_dir / "tokens.json").read_text() == "{"


def test_a_failure_is_an_object_for_programs(command: Command) -> None:
    code, out, err = command("revoke", "ghost", "--json")
    error = json.loads(out)["error"]
    assert (code, error["exitCode"], error["kind"]) == (1, 1, "failed")
    assert err == f"agenthost: {error['message']}\n"
    past = command("create", "phone", "--expires", "2001-01-01", "--json")
    assert (past[0], json.loads(past[1])["error"]["kind"]) == (2, "usage")


def test_the_default_data_directory_is_used_when_none_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTHOST_DATA_DIR", str(tmp_path / "mine"))
    parser = argparse.ArgumentParser()
    token.register(parser.add_subparsers())
    assert token.run(parser.parse_args(["token", "create", "phone"])) == 0
    assert (tmp_path / "mine" / "tokens.json").exists()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90m", datetime(2027, 1, 15, 9, 30, tzinfo=UTC)),
        ("12h", datetime(2027, 1, 15, 20, tzinfo=UTC)),
        ("30d", datetime(2027, 2, 14, 8, tzinfo=UTC)),
        ("2w", datetime(2027, 1, 29, 8, tzinfo=UTC)),
        ("2027-06-01", datetime(2027, 6, 1, tzinfo=UTC)),
        ("2027-06-01T12:00:00+02:00", datetime(2027, 6, 1, 10, tzinfo=UTC)),
        ("2027-06-01T12:00:00Z", datetime(2027, 6, 1, 12, tzinfo=UTC)),
    ],
)
def test_an_expiry_is_a_span_or_a_moment(text: str, expected: datetime) -> None:
    assert token.parse_expiry(text, NOW) == expected


@pytest.mark.parametrize("text", ["", "d", "-1d", "1y", "1.5h", "tomorrow", "30 d", "1d2h"])
def test_anything_else_is_no_expiry(text: str) -> None:
    with pytest.raises(ValueError, match="neither a span"):
        token.parse_expiry(text, NOW)
