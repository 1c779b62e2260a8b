from __future__ import annotations

import pytest

from agenthost.protocol.uris import ROOT, annotations_uri, canonical, is_nameable, is_root


@pytest.mark.parametrize("spelling", ["ahp-root://", "ahp-root:", "ahp-root:/", "ahp-root:///"])
def test_every_spelling_of_the_root_means_the_root(spelling: str) -> None:
    assert is_root(spelling)
    assert canonical(spelling) == ROOT


@pytest.mark.parametrize("uri", ["copilot:/1", "ahp-root://x", "ahp-session:/1", ""])
def test_every_other_uri_is_itself(uri: str) -> None:
    assert not is_root(uri)
    assert canonical(uri) == uri


@pytest.mark.parametrize("uri", ["", "s:/\x1b[2J", "s:/a\nb", "s:/" + "x" * 2_046])
def test_what_would_mislead_people_is_no_name_for_a_channel(uri: str) -> None:
    assert not is_nameable(uri)


@pytest.mark.parametrize("uri", ["s:/1", "s:/a b", "copilot:/ä%20?x=1#y", "s:/" + "x" * 2_045])
def test_any_other_uri_may_name_a_channel(uri: str) -> None:
    assert is_nameable(uri)


def test_annotations_live_below_their_session_whatever_its_scheme() -> None:
    assert annotations_uri("copilot:/42") == "copilot:/42/annotations"
