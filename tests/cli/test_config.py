"""``agenthost config``: settings of a host and of a session, shown and changed."""

from __future__ import annotations

import pytest
import pytest_asyncio

from tests.cli.running import Cli

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module", scope="module", autouse=True)
async def session(cli: Cli) -> str:
    """A session whose settings can be looked at."""
    return await cli.new("hello")


async def test_settings_of_the_host_are_listed_read_and_changed(cli: Cli) -> None:
    listed = await cli.main("config")
    heading, *rows = listed.out.splitlines()
    assert heading.split()[:2] == ["KEY", "VALUE"]
    mine = next(row for row in rows if row.startswith("mcp.enabled"))
    assert mine.split()[:2] == ["mcp.enabled", "true"]
    changed = await cli.main("config", "mcp.enabled", "false")
    assert (changed.code, changed.out) == (0, "false\n")
    assert (await cli.main("config", "--json")).json["mcp.enabled"] is False
    one = (await cli.main("config", "MCP.enabled", "true", "--json")).json
    assert (one["key"], one["value"], one["set"]) == ("mcp.enabled", True, True)
    assert (await cli.main("config", "welcome", "Hello, you")).out == "Hello, you\n"


async def test_settings_of_a_session_are_its_own(cli: Cli, session: str) -> None:
    listed = await cli.main("config", "--session", session)
    assert "isolation" in listed.out
    assert "(decided at the start)" in listed.out
    refused = await cli.main("config", "isolation", "folder", "--session", session)
    assert refused.code == 1
    assert "isolation cannot be changed" in refused.err
    # Without a name, the latest one's.
    latest = await cli.main("config", "isolation", "--session")
    assert (latest.code, latest.out) == (0, "folder\n")
    assert session[-36:] in latest.err


async def test_what_is_no_setting_or_no_value_is_refused_before_it_is_sent(cli: Cli) -> None:
    unknown = await cli.main("config", "mcp.enable")
    assert unknown.code == 2
    assert "there is no setting 'mcp.enable'; did you mean mcp.enabled?" in unknown.err
    wrong = await cli.main("config", "mcp.enabled", "perhaps", "--json")
    assert wrong.code == 2
    assert wrong.json["error"]["message"] == "mcp.enabled is true or false, not 'perhaps'"
    level = await cli.main("config", "telemetry.level", "loud")
    assert "telemetry.level is one of debug, info, warn, error" in level.err


async def test_a_value_that_the_host_refuses_is_told_with_its_reason(cli: Cli) -> None:
    done = await cli.main("config", "plugins", "[1]")
    assert done.code == 1
    assert "plugins[0] must be of type string" in done.err
