from __future__ import annotations

from agenthost.host.trust import LOCAL_OWNER, ClientBindings, Principal, Role

ANN = Principal("ann", Role.OPERATOR)
BOB = Principal("bob", Role.OWNER)


def test_the_first_principal_to_use_a_client_id_keeps_it() -> None:
    bindings = ClientBindings()
    assert bindings.claim("c-1", ANN) is None
    assert bindings.claim("c-1", ANN) is None
    refused = bindings.claim("c-1", BOB)
    assert refused is not None
    assert "another principal" in refused
    assert "ann" not in refused
    assert bindings.claim("c-1", ANN) is None


def test_tokens_of_one_name_share_their_client_ids_whatever_the_role() -> None:
    bindings = ClientBindings()
    bindings.claim("c-1", Principal("ann", Role.VIEWER, "old"))
    assert bindings.claim("c-1", Principal("ann", Role.OWNER, "new")) is None


def test_the_owner_keeps_client_ids_between_a_start_without_and_one_with_a_token() -> None:
    bindings = ClientBindings()
    bindings.claim("vscode", LOCAL_OWNER)
    assert bindings.claim("vscode", Principal("owner", Role.OWNER, "credential")) is None


def test_what_is_loaded_after_a_restart_belongs_to_whom_it_belonged_before() -> None:
    bindings = ClientBindings()
    bindings.load({"c-1": "ann", "c-2": "bob"})
    assert bindings.claim("c-1", BOB) is not None
    assert bindings.claim("c-2", BOB) is None


def test_loading_never_takes_an_id_away_from_its_holder() -> None:
    bindings = ClientBindings()
    bindings.claim("c-1", ANN)
    bindings.load({"c-1": "bob"})
    assert bindings.claim("c-1", BOB) is not None
    assert bindings.claim("c-1", ANN) is None


def test_memory_is_bounded_and_a_flood_costs_only_its_sender() -> None:
    forgotten: list[str] = []
    bindings = ClientBindings(per_principal=3, on_forgotten=forgotten.append)
    bindings.claim("bobs", BOB)
    for number in range(3):
        bindings.claim(f"c-{number}", ANN)
    bindings.claim("c-0", ANN)
    bindings.claim("c-3", ANN)
    assert forgotten == ["c-1"]
    assert bindings.claim("c-1", BOB) is None
    for kept in ("c-2", "c-0", "c-3"):
        assert bindings.claim(kept, BOB) is not None
    assert bindings.claim("bobs", ANN) is not None


def test_an_empty_or_endless_client_id_is_refused() -> None:
    bindings = ClientBindings()
    assert bindings.claim("", ANN) is not None
    assert bindings.claim("x" * 257, ANN) is not None
    assert bindings.claim("x" * 256, ANN) is None
