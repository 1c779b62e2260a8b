"""Whatever a client sends, it gets the protocol's own answer, and nobody else notices."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from agenthost.host.trust import Limits
from agenthost.protocol import SUPPORTED_VERSIONS
from agenthost.protocol.methods import METHODS, Direction, methods
from agenthost.protocol.schema.scalars import Channel, NonEmptyString
from tests.host.transports.raw import frame as wire_frame
from tests.host.transports.raw import open_raw
from tests.protocol.wire_samples import Place, changed, full, minimal, places, variants
from tests.wire.client import WireClient, open_client
from tests.wire.hosting import ServedHost
from tests.wire.scenes import (
    NEWEST,
    OLDEST,
    ROOT,
    Scene,
    call,
    error_of,
    faults,
    is_json,
    numbers,
    undisturbed,
    unharmed,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")

PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS = -32700, -32600, -32601, -32602
INTERNAL_ERROR = -32603
REQUESTS = sorted(methods(Direction.TO_HOST, is_notification=False))
OPENERS = {"initialize", "reconnect"}

Json = dict[str, Any]


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def host(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ServedHost]:
    async with unharmed(tmp_path_factory.mktemp("host") / "data") as served:
        yield served


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def shared(host: ServedHost) -> AsyncIterator[Scene]:
    """One scene for many small offences."""
    async with undisturbed(host) as scene:
        await scene.stranger.initialize()
        yield scene


# Frames


async def test_a_port_that_gets_garbage_answers_with_http_and_lives_on(host: ServedHost) -> None:
    async with undisturbed(host):
        for garbage in (b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", b"{}\r\n\r\n", b"\0" * 100_000):
            async with open_raw(int(host.address.rpartition(":")[2])) as raw:
                raw.send(garbage)
                assert (await raw.response()).status == 400


async def test_bytes_that_are_no_frames_close_the_connection(host: ServedHost) -> None:
    async with undisturbed(host) as scene:
        await scene.stranger.initialize()
        scene.stranger.socket.transport.write(b"\xff" * 64)
        assert (await scene.stranger.closed)[0] == 1002


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"\x00\x01\x02",
        b"garbage",
        b"{",
        b'{"jsonrpc":"2.0","id":1,"method":"ping"',
        b"\xff\xfe",
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"channel":"\xc3\x28"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"channel":"\xed\xa0\x80"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"channel":"\\ud800"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":NaN}}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":1e400}}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":' + b"9" * 5000 + b"}}",
        b'{"jsonrpc":"2.0","id":1,"method":"ping"}{}',
        b"[" * 100_000,
        b'{"a":' * 20_000,
        b"[" * 65 + b"]" * 65,
    ],
)
@pytest.mark.parametrize("text", [True, False], ids=["text", "binary"])
@pytest.mark.parametrize("opened", [True, False], ids=["after initialize", "before"])
async def test_what_is_no_json_or_too_deep_is_a_parse_error(
    shared: Scene, frame: bytes, text: bool, opened: bool
) -> None:
    async with open_client(shared.host.url, f"frames {next(numbers)}") as client:
        if opened:
            await client.initialize()
        answer = await client.exchange(frame, text=text)
        assert error_of(answer)[0] == PARSE_ERROR
        await client.ping()


@pytest.mark.parametrize(
    ("frame", "id"),
    [
        ("[]", None),
        ('[{"jsonrpc":"2.0","id":1,"method":"ping","params":{"channel":"ahp-root://"}}]', None),
        ("null", None),
        ("17", None),
        ('"ping"', None),
        ("{}", None),
        ('{"jsonrpc":"2.0"}', None),
        ('{"jsonrpc":"2.0","id":5}', 5),
        ('{"jsonrpc":"1.0","id":5,"method":"ping","params":{"channel":"ahp-root://"}}', 5),
        ('{"id":5,"method":"ping","params":{"channel":"ahp-root://"}}', 5),
        ('{"jsonrpc":"2.0","id":5,"method":7,"params":{}}', 5),
        ('{"jsonrpc":"2.0","id":[],"method":"ping","params":{}}', None),
        ('{"jsonrpc":"2.0","id":{},"method":"ping","params":{}}', None),
        ('{"jsonrpc":"2.0","id":true,"method":"ping","params":{}}', None),
    ],
)
async def test_json_that_is_no_request_is_an_invalid_request(
    shared: Scene, frame: str, id: Any
) -> None:
    assert error_of(await shared.stranger.exchange(frame, id))[0] == INVALID_REQUEST


@pytest.mark.parametrize("params", [[], "x", 7, None, True, [{"channel": ROOT}]])
async def test_params_that_are_no_object_are_refused(shared: Scene, params: Any) -> None:
    answer = await shared.stranger.exchange(call(5, "ping", params), 5)
    assert error_of(answer) == (INVALID_PARAMS, "params must be an object")


@pytest.mark.parametrize("id", [0, -1, 2**53 + 1, 2**64 - 1, 1.5, "", "x", "日本", "x" * 10_000])
async def test_any_id_that_json_rpc_allows_comes_back_as_it_was(shared: Scene, id: Any) -> None:
    answer = await shared.stranger.exchange(call(id, "ping", {"channel": ROOT}), id)
    assert answer["result"] is None
    assert type(answer["id"]) is type(id)


async def test_requests_that_share_an_id_are_answered_once_each(shared: Scene) -> None:
    stranger, seen = shared.stranger, len(shared.stranger.received)
    for _ in range(3):
        await stranger.socket.send(call(77, "ping", {"channel": ROOT}))
    await stranger.ping()
    answers = [message for message in stranger.received[seen:] if message.get("id") == 77]
    assert answers == [{"jsonrpc": "2.0", "id": 77, "result": None}] * 3


@pytest.mark.parametrize(
    "method",
    [
        "",
        "nothing",
        "__init__",
        "Ping",
        "root/sessionAdded",
        "action",
        "dispatchAction",
        "unsubscribe",
        "tools/list",
        "x" * 10_000,
    ],
)
async def test_an_unknown_method_is_not_found(shared: Scene, method: str) -> None:
    answer = await shared.stranger.exchange(call(5, method, {"channel": ROOT}), 5)
    assert error_of(answer)[0] == NO_METHOD


@pytest.mark.parametrize(
    "message",
    [
        {"method": "nothing", "params": {"channel": ROOT}},
        {"method": "nothing"},
        {"method": "ping", "params": {"channel": ROOT}},
        {"method": "createSession", "params": {"channel": "ahp-session:/by-notification"}},
        {"method": "action", "params": {"channel": ROOT, "serverSeq": 1, "action": {}}},
        {"method": "root/sessionRemoved", "params": {"channel": ROOT, "session": "ahp-session:/x"}},
        {"method": "unsubscribe", "params": {"channel": 7}},
        {"method": "unsubscribe", "params": {"channel": "ahp-session:/unknown"}},
        {"method": "unsubscribe", "params": {}},
        {"method": "unsubscribe", "params": []},
        {"method": "dispatchAction", "params": {}},
        {"method": "dispatchAction", "params": "x"},
        {"id": 4711, "result": {"snapshots": []}},
        {"id": 4711, "error": {"code": 1, "message": "x"}},
        {"id": "x", "error": {"code": "x", "message": []}},
        {"id": 1, "error": "x"},
        {"id": [], "result": None},
        {"id": 5, "result": None, "error": {}},
        {"result": None},
    ],
)
async def test_a_notification_or_answer_that_means_nothing_is_ignored(
    shared: Scene, message: Json
) -> None:
    stranger, seen = shared.stranger, len(shared.stranger.received)
    await stranger.send(message)
    await stranger.ping()
    assert len(stranger.received) == seen + 1


async def test_a_frame_over_the_limit_closes_the_connection_with_1009(host: ServedHost) -> None:
    opener = {"channel": ROOT, "protocolVersions": [NEWEST], "clientId": "huge frame"}
    async with undisturbed(host), open_raw(int(host.address.rpartition(":")[2])) as raw:
        await raw.upgrade(f"/?tkn={host.token}")
        raw.send(wire_frame(call(1, "initialize", opener).encode()))
        assert b'"result"' in bytes((await raw.frame()).data)
        raw.send(wire_frame(b"x" * (Limits().max_frame_bytes + 1)))
        assert (await raw.close_frame()).code == 1009


async def test_a_large_frame_within_the_limit_gets_an_ordinary_answer(shared: Scene) -> None:
    frame = call(5, "listSessions", {"channel": ROOT, "cursor": "x" * 4_000_000})
    code, message = error_of(await shared.stranger.exchange(frame, 5))
    assert code == INVALID_PARAMS
    assert len(message) < 200


async def test_before_initialize_frames_and_lists_are_small(host: ServedHost) -> None:
    opener = {"channel": ROOT, "clientId": "many"}
    async with undisturbed(host), open_client(host.url) as client:
        many = call(6, "initialize", {**opener, "protocolVersions": [NEWEST] * 101})
        assert error_of(await client.exchange(many, 6))[0] == INVALID_PARAMS
        few = call(7, "initialize", {**opener, "protocolVersions": [NEWEST] * 100})
        assert "result" in await client.exchange(few, 7)
    async with undisturbed(host), open_client(host.url) as client:
        await client.socket.send("x" * (Limits().max_small_frame_bytes + 1))
        assert (await client.closed)[0] == 1009


async def test_a_frame_of_very_many_values_is_a_parse_error_and_freezes_nobody(
    shared: Scene,
) -> None:
    """Each would take a second to parse, and hundreds of megabytes."""
    for frame in (b"[" + b"[]," * 2_000_000 + b"[]]", b"[" + b'"a",' * 2_000_000 + b'"a"]'):
        code, message = error_of(await shared.stranger.exchange(frame))
        assert (code, message) == (PARSE_ERROR, "a message may hold 200000 values")
    text = call(5, "listSessions", {"channel": ROOT, "cursor": '[],"' * 1_000_000})
    assert error_of(await shared.stranger.exchange(text, 5))[0] == INVALID_PARAMS


# Before and after initialize


@pytest.mark.parametrize("method", sorted(set(REQUESTS) - OPENERS - {"ping"}))
async def test_a_request_before_initialize_is_refused(shared: Scene, method: str) -> None:
    async with open_client(shared.host.url, f"early {next(numbers)}") as client:
        params = full(METHODS[method].params)
        assert error_of(await client.exchange(call(1, method, params), 1))[0] == INVALID_REQUEST
        await client.ping()
        await client.initialize()


async def test_a_notification_before_initialize_does_nothing(host: ServedHost) -> None:
    async with undisturbed(host) as scene:
        await scene.stranger.dispatch(scene.session, {"type": "session/titleChanged", "title": "x"})
        await scene.stranger.ping()


async def test_a_second_initialize_or_a_late_reconnect_is_refused(shared: Scene) -> None:
    stranger = shared.stranger
    again = await stranger.refusal("initialize", protocolVersions=[NEWEST], clientId="other")
    late = await stranger.refusal(
        "reconnect", clientId=stranger.client_id, lastSeenServerSeq=0, subscriptions=[]
    )
    assert (again.code, late.code) == (INVALID_REQUEST, INVALID_REQUEST)


@pytest.mark.parametrize(
    ("offer", "code"),
    [
        (NEWEST, INVALID_PARAMS),
        ({}, INVALID_PARAMS),
        (None, INVALID_PARAMS),
        ([7], INVALID_PARAMS),
        ([None], INVALID_PARAMS),
        ([[NEWEST]], INVALID_PARAMS),
        (["newest"], INVALID_PARAMS),
        ([NEWEST, 7], INVALID_PARAMS),
        ([], -32005),
        (["99.0.0"], -32005),
    ],
)
async def test_a_bad_offer_of_versions_is_refused_by_what_is_wrong_with_it(
    shared: Scene, offer: Any, code: int
) -> None:
    async with open_client(shared.host.url, f"offers {next(numbers)}") as client:
        failure = await client.refusal(
            "initialize", protocolVersions=offer, clientId=client.client_id
        )
        assert failure.code == code
        if code == INVALID_PARAMS:
            await client.initialize()
        else:
            assert failure.data["supportedVersions"] == list(SUPPORTED_VERSIONS)
            await client.closed


async def test_a_client_id_without_end_is_a_bad_parameter(shared: Scene) -> None:
    async with open_client(shared.host.url, "x" * 256) as client:
        opening = {"protocolVersions": [NEWEST], "clientId": "x" * 257}
        failure = await client.refusal("initialize", **opening)
        assert (failure.code, failure.data) == (INVALID_PARAMS, {"path": "clientId"})
        await client.initialize()


# Every field of every command


def wrong_params(method: str) -> list[tuple[Place, Json]]:
    seen: set[tuple[str, str]] = set()
    samples = variants(METHODS[method].params)
    if method == "initialize":
        samples = [{**sample, "protocolVersions": [NEWEST]} for sample in samples]
    wrong = [fault for sample in samples for fault in faults(sample, METHODS[method].params, seen)]
    # Where only the root can be meant, it need not be named.
    optional = {"channel"} if METHODS[method].concerns_root else set()
    return [(place, params) for place, params in wrong if optional <= params.keys()]


async def answers_to(client: WireClient, frames: list[str]) -> list[Json]:
    """Send all frames, then return all answers; refusals come in the same order."""
    seen = len(client.received)

    def answers() -> list[Json]:
        return [message for message in client.received[seen:] if "method" not in message]

    for frame in frames:
        await client.socket.send(frame)
    # Some take their time, and a ping would overtake them.
    await client.until(lambda: {} if len(answers()) >= len(frames) else None)
    return answers()


@pytest.mark.parametrize("method", REQUESTS)
async def test_every_wrong_field_of_every_command_is_refused_by_its_path(
    shared: Scene, method: str
) -> None:
    async with open_client(shared.host.url, f"fields {method}") as client:
        if method not in OPENERS:
            await client.initialize()
        wrong = wrong_params(method)
        frames = [call(f"f{n}", method, params) for n, (_, params) in enumerate(wrong)]
        answers = await answers_to(client, frames)
        assert len(answers) == len(frames) > 0
        for n, (answer, frame, (place, _)) in enumerate(zip(answers, frames, wrong, strict=True)):
            code, message = error_of(answer)
            if not is_json(frame):
                assert (answer["id"], code) == (None, PARSE_ERROR)
            else:
                assert (answer["id"], code) == (f"f{n}", INVALID_PARAMS), message
                assert place.path == "protocolVersions" or message.startswith(f"{place.path}: ")


@pytest.mark.parametrize("method", sorted(set(REQUESTS)))
async def test_a_wrong_field_in_the_oldest_version_is_no_internal_error(
    host: ServedHost, method: str
) -> None:
    async with open_client(host.url, f"old fields {method}", OLDEST) as client:
        if method not in OPENERS:
            await client.initialize()
        wrong = [
            {**params, "protocolVersions": [OLDEST]} if method == "initialize" else params
            for place, params in wrong_params(method)
            if place.path != "protocolVersions"
        ]
        answers = await answers_to(client, [call("f", method, params) for params in wrong])
        assert len(answers) >= len(wrong)
        codes = {answer["error"]["code"] for answer in answers if "error" in answer}
        assert codes
        assert INTERNAL_ERROR not in codes


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("listSessions", {"limit": None, "cursor": None}),
        ("subscribe", {"delivery": None, "view": None}),
        ("subscribe", {"delivery": {"maxLatencyMs": None}, "view": {"turns": None}}),
        ("resolveSessionConfig", {"provider": None, "workingDirectory": None, "config": None}),
    ],
)
async def test_null_for_an_optional_field_of_a_command_counts_as_absent(
    shared: Scene, method: str, params: Json
) -> None:
    await shared.stranger.request(method, **params)


@pytest.mark.parametrize("huge", [2**53 + 1, 2**63 - 1, 2**63, 2**64, 10**30])
@pytest.mark.parametrize(
    ("method", "field"),
    [
        ("listSessions", "limit"),
        ("subscribe", "view.turns"),
        ("subscribe", "delivery.maxLatencyMs"),
        ("completions", "offset"),
        ("reconnect", "lastSeenServerSeq"),
    ],
)
async def test_a_huge_number_is_taken_or_refused(
    host: ServedHost, method: str, field: str, huge: int
) -> None:
    outer, _, inner = field.partition(".")
    params: Json = {"channel": ROOT, outer: {inner: huge} if inner else huge}
    number = next(numbers)
    async with open_client(host.url, f"huge {number}") as client:
        await client.initialize()
        if method == "completions":
            params["channel"] = await client.ready_session(f"ahp-session:/huge-{number}")
            params |= {"kind": "userMessage", "text": "x"}
    async with open_client(host.url, f"huge {number}") as client:
        if method == "reconnect":
            params |= {"clientId": client.client_id, "subscriptions": [ROOT]}
        else:
            await client.initialize()
        answer = await client.exchange(call("x", method, params), "x")
        if "error" in answer:
            assert answer["error"]["code"] == INVALID_PARAMS
        elif method == "reconnect":
            assert answer["result"]["type"] == "snapshot"
        await client.ping()


@pytest.mark.parametrize("method", sorted(set(REQUESTS) - OPENERS))
async def test_no_command_fails_inside_whatever_its_strings_name(
    host: ServedHost, method: str
) -> None:
    number = next(numbers)
    session = f"ahp-session:/strings-{number}"
    async with open_client(host.url, f"strings {number}") as client:
        await client.initialize(ROOT)
        chat = await client.ready_session(session)
        await client.subscribe(chat)
        await client.run_turn(chat, "text", "hello")
        names = [chat, f"{session}/annotations", ROOT, "ahp-root:", "text", "\0", "\n", " "]
        names += ["%", "file:///%ff", "ahp-session:", "//", "http://[", "x" * 100_000, session]
        samples = [minimal(METHODS[method].params), *variants(METHODS[method].params)[:3]]
        sent = [
            changed(sample, place.location, name)
            for sample in samples
            for place in places(sample, METHODS[method].params)
            if place.wire_type in (str, Channel, NonEmptyString)
            for name in names
        ]
        for answer in await answers_to(client, [call("x", method, params) for params in sent]):
            assert "result" in answer or answer["error"]["code"] != INTERNAL_ERROR, answer
