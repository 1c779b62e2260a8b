"""Which version a connection speaks, for every kind of offer."""

from __future__ import annotations

from typing import Any

import pytest

from agenthost.errors import InvalidParams, UnsupportedProtocolVersion
from agenthost.protocol.versions import SUPPORTED_VERSIONS, Negotiated, negotiate


@pytest.mark.parametrize("version", SUPPORTED_VERSIONS)
def test_a_version_that_we_speak_is_spoken(version: str) -> None:
    assert negotiate([version]) == Negotiated(answer=version, version=version)


@pytest.mark.parametrize(
    ("offered", "answer", "rung"),
    [
        (["0.7.0", "0.6.0", "0.5.2", "0.5.1"], "0.7.0", "0.7.0"),
        (["0.5.1", "0.6.0"], "0.6.0", "0.6.0"),
        (["0.4.0", "0.3.0", "0.5.0"], "0.5.0", "0.5.0"),
        (["1.0.0", "0.8.0", "0.6.0"], "1.0.0", "1.0.0"),
        # What editors offer.
        (["0.9.0", "0.8.0", "0.7.0", "0.6.0", "0.5.2", "0.5.1"], "0.9.0", "0.9.0"),
        (["0.9.0", "0.7.0", "0.6.0", "0.5.2", "0.5.1"], "0.9.0", "0.9.0"),
        (["1.0.0", "0.9.0"], "1.0.0", "1.0.0"),
        (["0.9.0", "1.0.0"], "1.0.0", "1.0.0"),
        # Later patches, and from 1.0.0 on later minor versions.
        (["0.7.3"], "0.7.3", "0.7.0"),
        (["0.7.0", "0.7.3"], "0.7.3", "0.7.0"),
        (["0.6.12", "0.5.2"], "0.6.12", "0.6.0"),
        (["0.8.99"], "0.8.99", "0.8.0"),
        (["0.9.8", "0.9.10"], "0.9.10", "0.9.0"),
        (["1.7.0"], "1.7.0", "1.0.0"),
        (["1.4.0", "1.10.0"], "1.10.0", "1.0.0"),
        (["2.0.0", "0.9.1"], "0.9.1", "0.9.0"),
        (["0.5.1"], "0.5.1", "0.5.1"),
        (["0.5.9"], "0.5.9", "0.5.2"),
        (["0.5.10", "0.5.9"], "0.5.10", "0.5.2"),
        (["0.6.0", "0.6.0"], "0.6.0", "0.6.0"),
        # Numbers of any size are compared exactly.
        (["0.5.999999999999999999"], "0.5.999999999999999999", "0.5.2"),
        ([f"1.{2**60}.0", f"1.{2**60 + 1}.0"], f"1.{2**60 + 1}.0", "1.0.0"),
        ([f"1.0.{10**255}"], f"1.0.{10**255}", "1.0.0"),
        # The number under which 1.0.0 was developed.
        (["0.10.0"], "0.10.0", "1.0.0"),
        (["0.10.4"], "0.10.4", "1.0.0"),
        (["0.10.0", "0.9.0", "0.7.0"], "0.10.0", "1.0.0"),
        (["2.0.0", "0.10.0", "0.8.99"], "0.10.0", "1.0.0"),
        (["0.10.0", "1.0.0"], "1.0.0", "1.0.0"),
    ],
)
def test_the_highest_usable_version_is_answered_as_it_was_spelled(
    offered: list[str], answer: str, rung: str
) -> None:
    assert negotiate(offered) == Negotiated(answer=answer, version=rung)


@pytest.mark.parametrize(
    "offered",
    [
        *([], ["0.4.0"], ["0.3.0", "0.4.9"], ["0.11.0"], ["2.0.0"], ["0.0.0"], ["0.0.1"]),
        *(["0.70.0"], ["0.4.99", "2.0.0", "0.11.0"]),
    ],
)
def test_nothing_in_common_is_refused_with_what_we_speak(offered: list[str]) -> None:
    with pytest.raises(UnsupportedProtocolVersion) as refused:
        negotiate(offered)
    assert refused.value.data == {"supportedVersions": list(SUPPORTED_VERSIONS)}


def test_a_development_number_is_not_advertised() -> None:
    assert len(SUPPORTED_VERSIONS) == 8
    assert "0.10.0" not in SUPPORTED_VERSIONS


TWO_BASELINES = {"1.0.0": "1.0.0", "0.9.0": "0.9.0"}


@pytest.mark.parametrize(
    ("offered", "answer"),
    [
        ([], None),
        (["1.0.0"], "1.0.0"),
        (["0.9.0"], "0.9.0"),
        (["1.0.0", "0.9.0"], "1.0.0"),
        (["0.9.0", "1.0.0"], "1.0.0"),
        (["0.9.0", "0.8.0", "0.7.0", "0.6.0", "0.5.2", "0.5.1"], "0.9.0"),
        (["0.10.0", "0.9.0", "0.7.0"], "0.9.0"),
        (["0.10.0"], None),
        (["0.9.8", "0.9.10"], "0.9.10"),
        (["1.4.0", "1.10.0"], "1.10.0"),
        (["2.0.0", "0.9.1"], "0.9.1"),
        (["2.0.0", "0.10.0", "0.8.99"], None),
        (["0.8.0"], None),
        (["0.7.0"], None),
        (["0.5.2"], None),
        (["0.9.2", "0.9.2"], "0.9.2"),
    ],
)
def test_the_rule_gives_what_the_protocol_says_for_its_own_two_baselines(
    offered: list[str], answer: str | None
) -> None:
    if answer is None:
        with pytest.raises(UnsupportedProtocolVersion):
            negotiate(offered, baselines=TWO_BASELINES)
    else:
        assert negotiate(offered, baselines=TWO_BASELINES).answer == answer


MALFORMED: list[Any] = [
    *(0.7, 7, None, True, {}, ["0.7.0"]),
    *("", "1.0", "0.7", "0.7.0.0", "0.7.x", "^0.7.0", "0.7.0-beta", "0.7.0+1"),
    *("01.0.0", "0.07.0", "0.7.00", "v0.7.0", " 0.7.0", "0.7.0 ", "0.7.0\n", "0. 7.0"),
    *(
        "-0.7.0",
        "+0.7.0",
        "0.7.-1",
        "0x0.7.0",
        "\u0660.\u0667.\u0660",
        "0.7.0²",
        "1e0.7.0",
        "9" * 5000 + ".0.0",
        "1.0." + "9" * 257,
        *("1.00.0", "1.0.0.0", "1.0.0-beta", "1.0.0+b", " 1.0.0", "1.0.0\n", "v1.0.0", "1.-1.0"),
    ),
]


@pytest.mark.parametrize("entry", MALFORMED, ids=lambda entry: repr(entry)[:20])
def test_one_malformed_version_spoils_the_whole_offer(entry: Any) -> None:
    for offered in ([entry], ["0.7.0", entry], [entry, "0.7.0"]):
        with pytest.raises(InvalidParams):
            negotiate(offered)


@pytest.mark.parametrize("offered", [None, "0.7.0", 7, {"0.7.0": 1}, ("0.7.0",), True])
def test_an_offer_that_is_not_a_list_is_malformed(offered: Any) -> None:
    with pytest.raises(InvalidParams) as refused:
        negotiate(offered)
    assert refused.value.path == "protocolVersions"


def test_a_malformed_entry_is_named_by_its_place() -> None:
    with pytest.raises(InvalidParams) as refused:
        negotiate(["0.7.0", None])
    assert refused.value.path == "protocolVersions[1]"
