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


def test_bindings_survive_a_restart_through_dump_and_load() -> None:
    first, second = ClientBindings(), ClientBindings()
    first.claim("c-1", ANN)
    first.claim("c-2", BOB)
    second.load(first.dump())
    assert second.dump() == {"c-1": "ann", "c-2": "bob"}
    assert second.claim("c-1", BOB) is not None
    assert second.claim("c-2", BOB) is None


def test_loading_never_takes_an_id_away_from_its_holder() -> None:
    bindings = ClientBindings()
    bindings.claim("c-1", ANN)
    bindings.load({"c-1": "bob"})
    assert bindings.dump() == {"c-1": "ann"}


def test_the_host_is_told_of_each_new_binding_once_and_of_each_forgotten_one() -> None:
    bound: list[tuple[str, str]] = []
    forgotten: list[str] = []
    bindings = ClientBindings(
        on_bound=lambda client_id, name: bound.append((client_id, name)),
        on_forgotten=forgotten.append,
    )
    bindings.load({"c-0": "bob"})
    for _ in range(2):
        bindings.claim("c-1", ANN)
        bindings.claim("c-1", BOB)
    assert bound == [("c-1", "ann")]
    bindings.forget("ann")
    bindings.forget("nobody")
    assert forgotten == ["c-1"]


def test_ids_of_a_principal_that_is_gone_are_free_again() -> None:
    bindings = ClientBindings()
    bindings.claim("c-1", ANN)
    bindings.claim("c-2", BOB)
    bindings.forget("ann")
    assert bindings.claim("c-1", BOB) is None
    assert bindings.dump() == {"c-2": "bob", "c-1": "bob"}


def test_memory_is_bounded_and_a_flood_costs_only_its_sender() -> None:
    forgotten: list[str] = []
    bindings = ClientBindings(per_principal=3, on_forgotten=forgotten.append)
    bindings.claim("bobs", BOB)
    for number in range(3):
        bindings.claim(f"c-{number}", ANN)
    bindings.claim("c-0", ANN)
    bindings.claim("c-3", ANN)
    assert forgotten == ["c-1"]
    assert set(bindings.dump()) == {"bobs", "c-2", "c-0", "c-3"}
    assert bindings.claim("bobs", ANN) is not None


def test_an_empty_or_endless_client_id_is_refused() -> None:
    bindings = ClientBindings()
    assert bindings.claim("", ANN) is not None
    assert bindings.claim("x" * 257, ANN) is not None
    assert bindings.claim("x" * 256, ANN) is None
    assert len(bindings.dump()) == 1
