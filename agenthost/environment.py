"""Every environment variable that agenthost reads, as a table; documents are made from it.

The names are used where they are read; a test holds the two together.
"""

from __future__ import annotations

from msgspec import Struct


class Variable(Struct, frozen=True):
    """A variable: what it does, what counts without it, and who reads it."""

    name: str
    what: str
    # What counts while it is not set; empty where the sentence says it.
    default: str
    # The commands or parts that look at it, in words of people.
    read_by: str
    group: str


GROUPS = {
    "host": "Which host, and where its data is",
    "agents": "Agents and their models",
    "terminal": "The terminal",
    "telemetry": "Telemetry",
    "inner": "Set by the host for its own processes",
}
"""The groups of the table by their short names, in the order of the page."""

_OF_LLM = "the agent `llm`"

VARIABLES = (
    Variable(
        "AGENTHOST_DATA_DIR",
        "the data directory: sessions, tokens, the log",
        "the user's own, see `XDG_DATA_HOME`",
        "every command, `connect()`",
        "host",
    ),
    Variable(
        "AGENTHOST_CLUSTER",
        "the servers of a cluster to be a node of, out of sight of `ps`: `nats://…`",
        "none: a host of its own",
        "`agenthost serve`",
        "host",
    ),
    Variable(
        "AGENTHOST_CLUSTER_CREDENTIALS",
        "the credentials file for the servers of a cluster",
        "none",
        "`agenthost serve --cluster`, `doctor --cluster`, `migrate`",
        "host",
    ),
    Variable(
        "AGENTHOST_URL",
        "a host elsewhere: `wss://…`, `host:port`, `ssh://machine`",
        "the host of the data directory",
        "every client command, `connect()`",
        "host",
    ),
    Variable(
        "AGENTHOST_TOKEN",
        "the token for that host, out of sight of `ps`",
        "the local host's own",
        "every client command, `connect()`",
        "host",
    ),
    Variable(
        "AGENTHOST_TLS_CA",
        "a file of certificates to trust instead of the system's",
        "the system's",
        "every client command, `connect()`",
        "host",
    ),
    Variable(
        "AGENTHOST_SSH",
        "the ssh that `ssh://` runs, with options if wanted",
        "`ssh`",
        "`ssh://` addresses",
        "host",
    ),
    Variable(
        "AGENTHOST_FAR_COMMAND",
        "what `agenthost` is called on the other machine",
        "`agenthost`",
        "`ssh://` addresses",
        "host",
    ),
    Variable(
        "XDG_DATA_HOME",
        "the data directory is `agenthost` in there",
        "`~/.local/share`; on a Mac `~/Library/Application Support`",
        "every command",
        "host",
    ),
    Variable(
        "XDG_CONFIG_HOME",
        "your own instructions, skills and servers lie in `agenthost` in there",
        "`~/.config`",
        "`serve`",
        "host",
    ),
    Variable(
        "AGENTHOST_LLM_MODELS",
        "the models to offer, with commas, the default one first: `openai:NAME`, `anthropic:NAME`",
        "some of each provider whose key is set",
        _OF_LLM,
        "agents",
    ),
    Variable(
        "AGENTHOST_LLM_BASE_URL",
        "a server of your own that speaks OpenAI's protocol; needs `AGENTHOST_LLM_MODELS`",
        "the provider's",
        _OF_LLM,
        "agents",
    ),
    Variable("AGENTHOST_LLM_API_KEY", "the key for that server", "none", _OF_LLM, "agents"),
    Variable("ANTHROPIC_API_KEY", "the key for Anthropic's models", "none", _OF_LLM, "agents"),
    Variable("OPENAI_API_KEY", "the key for OpenAI's models", "none", _OF_LLM, "agents"),
    Variable("GOOGLE_API_KEY", "the key for Google's models", "none", _OF_LLM, "agents"),
    Variable("GEMINI_API_KEY", "the same by its other name", "none", _OF_LLM, "agents"),
    Variable(
        "AGENTHOST_PASS_ENV",
        "secret variables that agents' commands get all the same: `GITHUB_TOKEN,AWS_*`",
        "none: names that look like a key, token or password are left out",
        "agents' commands, terminals",
        "agents",
    ),
    Variable(
        "SHELL",
        "the shell of new terminals, where the setting `defaultShell` names none",
        "one that is there",
        "`serve`",
        "agents",
    ),
    Variable(
        "PATH",
        "where programs are looked for",
        "the system's",
        "agents' commands, MCP servers",
        "agents",
    ),
    Variable(
        "GIT_DIR",
        "`/dev/null` says that there are no repositories here; nothing else of git's is passed on",
        "not set",
        "git, as the host runs it",
        "agents",
    ),
    Variable(
        "NO_COLOR",
        "set to anything: no colours",
        "colours at a terminal",
        "every command",
        "terminal",
    ),
    Variable("PAGER", "shows long diffs and outputs", "`less -R`", "`chat`", "terminal"),
    Variable(
        "VISUAL, EDITOR",
        "the editor for Ctrl-X Ctrl-E, the first of them that is set",
        "`editor`, `nano` or `vi`",
        "`chat`",
        "terminal",
    ),
    Variable(
        "AGENTHOST_NO_HISTORY",
        "set to anything: typed lines are neither kept nor called up "
        "(`history` in the data directory)",
        "the newest 2,000 are kept",
        "`chat`",
        "terminal",
    ),
    Variable("TERM", "what the terminal can do", "the terminal sets it", "`chat`", "terminal"),
    Variable(
        "LC_ALL, LC_MESSAGES, LANG",
        "your language, told to agents",
        "not told",
        "`chat`",
        "terminal",
    ),
    Variable(
        "TZ", "the time zone of new automations", "the machine's", "`automations add`", "terminal"
    ),
    Variable(
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "where traces, metrics and logs go; wins over the setting `telemetry.endpoint`",
        "nowhere",
        "`serve`",
        "telemetry",
    ),
    Variable(
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, OTEL_EXPORTER_OTLP_METRICS_ENDPOINT, "
        "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT",
        "where one of them goes",
        "the one above",
        "`serve`",
        "telemetry",
    ),
    Variable(
        "OTEL_EXPORTER_OTLP_PROTOCOL, OTEL_EXPORTER_OTLP_TRACES_PROTOCOL, "
        "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL, OTEL_EXPORTER_OTLP_LOGS_PROTOCOL",
        "how: `http/protobuf` or `grpc`",
        "`http/protobuf`",
        "`serve`",
        "telemetry",
    ),
    Variable(
        "OTEL_TRACES_EXPORTER, OTEL_METRICS_EXPORTER, OTEL_LOGS_EXPORTER",
        "`none` sends that signal nowhere",
        "sent where an endpoint is named",
        "`serve`",
        "telemetry",
    ),
    Variable(
        "OTEL_SDK_DISABLED",
        "`true`: no telemetry at all, not over the protocol either",
        "`false`",
        "`serve`",
        "telemetry",
    ),
    Variable(
        "AGENTHOST_BRIDGE, AGENTHOST_BRIDGE_KEY",
        "the way from an ACP agent to the host's tools",
        "",
        "the relay that such an agent starts",
        "inner",
    ),
    Variable(
        "AGENTHOST_MCP",
        "marks what an MCP server has started, so that all of it is ended",
        "",
        "the host",
        "inner",
    ),
)
"""All of them, as the page lists them; a row may name several that belong together."""
