from __future__ import annotations

import pytest

from agenthost.agents import option, standard_options

IDS = ["allow-once", "allow-in-session", "deny", "deny-with-reason"]


@pytest.mark.parametrize("locale", [None, "", "en", "de", "de-AT", "es_MX", "FR", "ja-JP", "tlh"])
def test_the_usual_options_are_the_same_in_every_language(locale: str | None) -> None:
    made = standard_options(locale)
    assert [item["id"] for item in made] == IDS
    assert [(item["kind"], item["group"]) for item in made] == [
        *[("approve", 0)] * 2,
        *[("deny", 1)] * 2,
    ]
    assert len({item["label"] for item in made}) == 4


@pytest.mark.parametrize(
    ("locale", "first"),
    [
        (None, "Allow once"),
        ("en-GB", "Allow once"),
        ("de_CH", "Einmal erlauben"),
        ("es", "Permitir una vez"),
        ("FR-ca", "Autoriser une fois"),
        ("ja", "一度だけ許可"),
        ("nonsense", "Allow once"),
    ],
)
def test_labels_are_in_the_language_that_was_asked_for(locale: str | None, first: str) -> None:
    assert standard_options(locale)[0]["label"] == first


def test_an_option_of_ones_own_says_what_it_means() -> None:
    assert option("a", "A", approve=True) == {"id": "a", "label": "A", "kind": "approve"}
    assert option("b", "B", approve=False, group=0) == {
        "id": "b",
        "label": "B",
        "kind": "deny",
        "group": 0,
    }
