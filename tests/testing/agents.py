"""Agents that ask, think, call, fail and wait, for the tests of ``agenthost.testing``."""

from __future__ import annotations

import asyncio

from agenthost.agents import Agent, AgentError, Turn, content, inputs


class Greeter(Agent):
    """Asks who one is, and says hello."""

    provider, display_name = "greeter", "Greeter"

    async def run(self, turn: Turn) -> None:
        name = await turn.ask("Who are you?")
        await turn.write("Hello, ")
        await turn.write(f"{name}!" if name is not None else "stranger!")


class Form(Agent):
    """Asks several things at once, and repeats them."""

    provider, display_name = "form", "Form"

    async def run(self, turn: Turn) -> None:
        answers = await turn.ask_all(
            [
                inputs.text("name", "Your name?", min=2),
                inputs.choice("colour", "Which colour?", ["red", "blue"], required=False),
            ]
        )
        await turn.write(f"{answers.response}: {dict(answers.values)}")


class Worker(Agent):
    """Calls tools, of which some need approval."""

    provider, display_name = "worker", "Worker"

    async def run(self, turn: Turn) -> None:
        await turn.think("Let me see. ")
        for word in turn.text.split():
            async with turn.tool(word, input={"word": word}) as call:
                if not await call.confirm(f"Do {word}?"):
                    await turn.write(f"not {word} ")
                    continue
                await call.complete(f"Did {word}", [content.text(f"{word} is done")])
        await turn.report_usage({"inputTokens": 3, "outputTokens": 4})
        await turn.notify("That was all.")


class Failing(Agent):
    """Fails: as agents do, or with an error of its own."""

    provider, display_name = "failing", "Failing"

    async def run(self, turn: Turn) -> None:
        await turn.write("so far ")
        if turn.text == "badly":
            raise ZeroDivisionError
        raise AgentError("no luck today", "noLuck")


class Patient(Agent):
    """Waits until it is steered, and notes whether it was stopped instead."""

    provider, display_name = "patient", "Patient"
    stopped = False

    async def run(self, turn: Turn) -> None:
        await turn.write("waiting ")
        try:
            await turn.write(await turn.next_steering())
        except asyncio.CancelledError:
            self.stopped = True
            raise


class Caller(Agent):
    """Calls a tool of the client."""

    provider, display_name = "caller", "Caller"

    async def run(self, turn: Turn) -> None:
        ended = await turn.call_client_tool("look", {"at": turn.text})
        await turn.write(ended["content"][0]["text"])


class Lead(Agent):
    """Lets a worker do what needs a question and an approval."""

    provider, display_name = "lead", "Lead"

    async def run(self, turn: Turn) -> None:
        if turn.text == "work":
            name = await turn.ask("For whom?")
            async with turn.tool("build") as call:
                approved = await call.confirm("Build?")
            await turn.write(f"{'built' if approved else 'not built'} for {name}")
            return
        async with turn.tool("delegate") as call:
            worker = await call.delegate("work", title="Worker")
        await turn.write(worker.text)
