from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agenthost.agents import AgentError, SessionContext, Turn, inputs
from agenthost.agents import sanitize as emitting
from tests.agents.fakes import FakePort, make_turn

Json = dict[str, Any]

MODELS: list[Json] = [
    {
        "id": "small",
        "configSchema": {
            "type": "object",
            "properties": {"effort": {"type": "string", "default": "low"}, "seed": {}},
        },
    },
    {"id": "large"},
]


def with_message(port: FakePort, **fields: Any) -> Turn:
    """Return a turn whose message says more than its text."""
    message = {"text": "go", "origin": {"kind": "user"}, **fields}
    return Turn(
        port,
        id="t1",
        chat="c:/1",
        message=message,
        history=[],
        session=SessionContext("s:/1"),
        models=MODELS,
    )


async def test_text_of_one_kind_is_one_part_until_something_else_comes() -> None:
    port = FakePort()
    turn = make_turn(port)
    for text in ("a", "", "b"):
        await turn.write(text)
    for text in ("c", "d"):
        await turn.think(text)
    await turn.write("e")
    await turn.notify("f")
    await turn.write("g")
    async with turn.tool("tool"):
        pass
    await turn.write("h")
    shown = [part.get("content", part["kind"]) for part in port.parts]
    assert shown == ["ab", "cd", "e", "f", "g", "toolCall", "h"]
    # Whoever collects deltas alone has all of the text.
    assert port.steps.count("delta") == len("abegh")
    assert port.steps.count("reasoning") == len("cd")


async def test_large_content_travels_by_reference() -> None:
    port = FakePort()
    turn = make_turn(port)
    await turn.attach(b"data", "text/plain")
    ref = await turn.store(b"more")
    assert port.parts == [{"kind": "contentRef", "uri": "ahp-content:/0", "sizeHint": 4}]
    assert port.stored[ref["uri"]] == (b"more", None)


async def test_usage_and_activity_are_told() -> None:
    port = FakePort()
    turn = make_turn(port)
    await turn.report_usage({"inputTokens": 1, "_meta": {"cost": 2}})
    assert port.state["activeTurn"]["usage"] == {"inputTokens": 1, "_meta": {"cost": 2}}
    await turn.set_activity("reading")
    assert port.state["activity"] == "reading"
    await turn.set_activity(None)
    assert "activity" not in port.state


def test_a_message_says_which_model_to_use_and_how() -> None:
    port = FakePort()
    for model, id, config in (
        (None, "small", {"effort": "low"}),
        ({"id": "small"}, "small", {"effort": "low"}),
        (
            {"id": "small", "config": {"effort": "high", "seed": 1}},
            "small",
            {"effort": "high", "seed": 1},
        ),
        ({"id": "large"}, "large", {}),
        ({"id": "unheard of", "config": {"x": 1}}, "unheard of", {"x": 1}),
    ):
        turn = with_message(port, **({"model": model} if model else {}))
        assert (turn.model, turn.model_config) == (id, config)
    assert make_turn(port).model is None
    assert make_turn(port).model_config == {}


def test_a_turn_knows_its_message_and_its_surroundings() -> None:
    port = FakePort(locale="fr")
    port.tokens["https://x"] = "secret"
    turn = with_message(port, attachments=[{"type": "simple"}])
    assert (turn.text, turn.locale, turn.chat, turn.id) == ("go", "fr", "c:/1", "t1")
    assert turn.attachments == [{"type": "simple"}]
    assert make_turn(port).attachments == ()
    assert (turn.credential("https://x"), turn.credential("https://y")) == ("secret", None)
    turn.reject_credential("https://x")
    assert turn.credential("https://x") is None


@pytest.mark.parametrize(
    ("directories", "folder"),
    [
        ([], None),
        (["file:///a%20b", "file:///c"], "/a b"),
        (["vscode-remote://x/y", "file:///c"], "/c"),
        (["file://localhost/c"], "/c"),
        (["file://elsewhere/c"], None),
    ],
)
def test_the_folder_is_the_first_directory_of_this_machine(
    directories: list[str], folder: str | None
) -> None:
    assert SessionContext("s:/1", directories).folder == folder


async def test_one_question_gives_its_answer() -> None:
    port = FakePort()
    task = asyncio.create_task(make_turn(port).ask("Who?", default="me"))
    request = await port.until_asked()
    assert request["message"] == "Who?"
    assert request["questions"] == [inputs.text("answer", "Who?", default="me")]
    answer = {"state": "submitted", "value": {"kind": "text", "value": "you"}}
    complete(port, request, "accept", answer=answer)
    assert await task == "you"


def complete(port: FakePort, request: Json, response: str, **answers: Json) -> None:
    action = {"type": "chat/inputCompleted", "requestId": request["id"], "response": response}
    port.act({**action, "answers": answers} if answers else action)


@pytest.mark.parametrize("response", ["decline", "cancel"])
async def test_one_question_that_is_declined_gives_none(response: str) -> None:
    port = FakePort()
    task = asyncio.create_task(make_turn(port).ask("Who?"))
    complete(port, await port.until_asked(), response)
    assert await task is None


async def test_people_are_sent_to_a_page() -> None:
    port = FakePort()
    task = asyncio.create_task(make_turn(port).ask_all(url="https://x", message="Sign in"))
    request = await port.until_asked()
    assert (request["url"], "questions" in request) == ("https://x", False)
    complete(port, request, "accept")
    answers = await task
    assert (bool(answers), answers.response) == (True, "accept")


async def test_a_question_that_nobody_answers_is_given_up() -> None:
    port = FakePort(prompt_timeout=0.01)
    answers = await make_turn(port).ask_all([inputs.boolean("sure", "Sure?")])
    assert (bool(answers), answers.response) == (False, "cancel")
    assert port.parts[0]["response"] == "cancel"


async def test_an_answer_that_comes_with_the_end_of_patience_counts() -> None:
    port = FakePort(prompt_timeout=0.01)
    original = port.wait_for

    async def wait_for(look: Any) -> Any:
        try:
            return await original(look)
        except asyncio.CancelledError:
            complete(port, port.parts[0]["request"], "decline")
            raise

    port.wait_for = wait_for  # type: ignore[method-assign]
    answers = await make_turn(port).ask_all([inputs.boolean("sure", "Sure?")])
    assert answers.response == "decline"


async def test_a_question_that_nobody_waits_for_is_closed() -> None:
    port = FakePort()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await make_turn(port).ask("Who?")
    assert port.parts[0]["response"] == "cancel"


async def test_steering_messages_are_taken_off_the_chat() -> None:
    port = FakePort()
    task = asyncio.create_task(make_turn(port).next_steering())
    message = {"text": "left", "origin": {"kind": "user"}}
    port.act({"type": "chat/pendingMessageSet", "kind": "steering", "id": "m", "message": message})
    assert await task == "left"
    assert "steeringMessage" not in port.state


async def test_a_steering_message_is_to_be_had_with_its_attachments() -> None:
    port = FakePort()
    note = {"type": "simple", "label": "note", "modelRepresentation": "n"}
    message = {"text": "left", "origin": {"kind": "user"}, "attachments": [note]}
    port.act({"type": "chat/pendingMessageSet", "kind": "steering", "id": "m", "message": message})
    assert await make_turn(port).next_steering_message() == message


@pytest.mark.parametrize(
    "work",
    [
        lambda turn: turn.write(42),
        lambda turn: turn.write(None),
        lambda turn: turn.think(b"hm"),
        lambda turn: turn.notify({"text": "x"}),
        lambda turn: turn.attach("text"),
        lambda turn: turn.set_activity(1),
        lambda turn: turn.report_usage({"_meta": {"x": {1, 2}}}),
        lambda turn: turn.ask_all([{"id": "kindless"}]),
    ],
)
async def test_a_mistake_is_told_to_its_agent_and_the_chat_stays_whole(work: Any) -> None:
    port = FakePort()
    with pytest.raises(AgentError, match="the agent made a mistake"):
        await work(make_turn(port))
    assert (port.parts, port.actions) == ([], [])


@pytest.mark.parametrize(
    ("asking", "problem"),
    [
        ({}, "it asks nothing"),
        ({"questions": [], "message": ""}, "it asks nothing"),
        ({"questions": [inputs.text("a", "1?"), inputs.boolean("a", "2?")]}, "two questions are"),
        ({"questions": [inputs.choice("a", "?", [])]}, "offers nothing to choose from"),
        ({"questions": [inputs.choices("a", "?", [])]}, "offers nothing to choose from"),
        ({"questions": [inputs.choice("a", "?", ["x", "x"])]}, "two options of the question 'a'"),
        ({"questions": [inputs.choices("a", "?", ["x"], min=2)]}, "more choices than it offers"),
        (
            {"questions": [inputs.choices("a", "?", ["x"], min=2, max=1)]},
            "at least 2 and at most 1",
        ),
        ({"questions": [inputs.integer("a", "?", min=5, max=2)]}, "at least 5 and at most 2"),
        ({"questions": [inputs.number("a", "?", min=0.5, max=0.25)]}, "0.5 and at most 0.25"),
        ({"questions": [inputs.text("a", "?", max=-1)]}, "at least 0 and at most -1"),
        ({"questions": [{"id": "a", "kind": "nope", "message": "?"}]}, "there is no 'nope'"),
    ],
)
async def test_what_nobody_could_answer_is_not_asked(asking: Json, problem: str) -> None:
    port = FakePort()
    with pytest.raises(AgentError, match=f"the agent made a mistake: .*{problem}"):
        await make_turn(port).ask_all(**asking)
    assert port.actions == []


@pytest.mark.parametrize(
    "asking",
    [
        {"message": "Go on?"},
        {"url": "https://example.org"},
        {"questions": [inputs.choice("a", "?", [], freeform=True)]},
        {"questions": [inputs.choice("a", "?", [], required=False)]},
        {"questions": [inputs.choices("a", "?", ["x"], min=1, max=1)]},
        {"questions": [inputs.number("a", "?", min=-2, max=-1)]},
    ],
)
async def test_what_somebody_can_answer_is_asked(asking: Json) -> None:
    port = FakePort()
    task = asyncio.ensure_future(make_turn(port).ask_all(**asking))
    complete(port, await port.until_asked(), "decline")
    assert (await task).response == "decline"


async def test_a_long_text_is_written_in_pieces_into_one_part(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(emitting, "LONGEST_PIECE", 4)
    port = FakePort()
    turn = make_turn(port)
    await turn.write("0123456789")
    await turn.think("abcde")
    async with turn.tool("tool") as call:
        await call.stream_input("vwxyz")
    assert [part.get("content") for part in port.parts[:2]] == ["0123456789", "abcde"]
    pieces = [action["content"] for action in port.actions if action.get("content")]
    assert pieces == ["0123", "4567", "89", "abcd", "e", "vwxy", "z"]


def offer(port: FakePort, client: str, *tools: Json) -> None:
    port.session_state["activeClients"].append({"clientId": client, "tools": list(tools)})


async def call_look(port: FakePort, **options: Any) -> asyncio.Task[Any]:
    task = asyncio.create_task(make_turn(port).call_client_tool("look", {"at": 1}, **options))
    await port.until_status("running")
    return task


async def test_a_clients_tool_is_run_by_its_owner() -> None:
    port = FakePort()
    offer(port, "c2", {"name": "listen"})
    offer(port, "c3", {"name": "look", "title": "Look around"})
    assert set(make_turn(port).client_tools) == {"look", "listen"}
    task = await call_look(port)
    assert port.call["contributor"] == {"kind": "client", "clientId": "c3"}
    assert (port.call["displayName"], port.call["toolInput"]) == ("Look around", '{"at": 1}')
    port.answer("Complete", result={"success": True, "pastTenseMessage": "Looked"})
    ended = await task
    assert (ended["status"], ended["pastTenseMessage"]) == ("completed", "Looked")


async def test_of_several_owners_the_one_that_started_the_turn_is_asked() -> None:
    port = FakePort()
    for client in ("c0", "c1"):
        offer(port, client, {"name": "look"})
    for started, asked in (("c1", "c1"), ("c9", "c0"), (None, "c0")):
        port.client = started
        task = await call_look(port)
        assert port.call["contributor"]["clientId"] == asked
        port.answer("Complete", result={"success": True, "pastTenseMessage": "Looked"})
        await task


async def test_a_result_that_its_owner_wants_approved_is_waited_for() -> None:
    port = FakePort()
    offer(port, "c1", {"name": "look"})
    task = await call_look(port)
    result = {"success": True, "pastTenseMessage": "Looked"}
    port.answer("Complete", result=result, requiresResultConfirmation=True)
    await asyncio.sleep(0)
    assert not task.done()
    port.answer("ResultConfirmed", approved=False)
    assert (await task)["status"] == "cancelled"


@pytest.mark.parametrize("reviewing", [False, True])
@pytest.mark.parametrize("whose", ["the call's", "the host's"])
async def test_an_owner_that_takes_too_long_is_given_up(reviewing: bool, whose: str) -> None:
    port = FakePort(prompt_timeout=0.02 if whose == "the host's" else None)
    offer(port, "c1", {"name": "look"})
    task = await call_look(port, timeout=0.02 if whose == "the call's" else 60)
    if reviewing:
        result = {"success": True, "pastTenseMessage": "Looked"}
        port.answer("Complete", result=result, requiresResultConfirmation=True)
    ended = await task
    if reviewing:
        assert (ended["status"], ended["reason"]) == ("cancelled", "result-denied")
    else:
        assert ended["error"] == {
            "message": "the client did not answer in time",
            "code": "timeout",
        }


async def test_a_tool_that_no_client_offers_is_an_error() -> None:
    with pytest.raises(AgentError, match="no attached client offers the tool look") as error:
        await make_turn(FakePort()).call_client_tool("look")
    assert error.value.error_type == "unknownTool"


async def test_what_several_tasks_write_stays_in_the_order_in_which_they_wrote() -> None:
    port = FakePort()
    turn = make_turn(port)

    async def write(*pieces: str) -> None:
        for piece in pieces:
            await turn.write(piece)

    # They take turns: the port lets others go on whenever something was emitted.
    await asyncio.gather(write("a", "b", "c"), write("1", "2", "3"))
    assert "".join(part["content"] for part in port.parts) == "a1b2c3"
    assert len(port.parts) == 1


async def test_a_remark_says_which_turn_of_which_chat_it_is_about() -> None:
    port = FakePort()
    id = await make_turn(port).annotate("file:///a.py", "why?")
    (note,) = port.notes
    assert note["id"] == id
    assert note["origin"] == {"session": "s:/1", "chat": "c:/1", "turnId": "t1"}
