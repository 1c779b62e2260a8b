from __future__ import annotations

from pathlib import Path

import pytest

from agenthost.cli.connection.host_lookup import find_host
from agenthost.local_host import NoHost


def test_no_host_says_how_to_start_one_or_name_another(tmp_path: Path) -> None:
    told = rf"agenthost serve --data-dir {tmp_path}`, or name one with --url"
    with pytest.raises(NoHost, match=told):
        find_host(data_dir=tmp_path)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("127.0.0.1:8765", "ws://127.0.0.1:8765/"),
        ("http://box:1/", "ws://box:1/"),
        ("https://box/", "wss://box/"),
        ("wss://box/ahp", "wss://box/ahp"),
        ("ssh://me@Box:2022/~/data", "ssh://me@Box:2022/~/data"),
    ],
)
def test_an_address_is_read_as_people_write_it(written: str, meant: str) -> None:
    assert find_host(written, "secret").url == meant
    assert find_host(written, "secret").token == "secret"


def test_a_folder_that_cannot_be_a_host_s_is_told_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(NoHost, match="file is not a directory"):
        find_host(data_dir=tmp_path / "file")
    (tmp_path / "host.json").write_text("{")
    with pytest.raises(NoHost, match=r"damaged: start .* `agenthost serve --data-dir"):
        find_host(data_dir=tmp_path)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "no")

    monkeypatch.setattr("os.open", refuse)
    with pytest.raises(NoHost, match=r"another user's; .* token for you and name one with --url"):
        find_host(data_dir=tmp_path)
