"""Base of the node rewriters: one method per node type, each returning its input.

A step subclasses ``Rewriter`` twice, for DOWN and for UP, and overrides only the nodes that differ
between its two versions. Where those nodes occur is the business of ``node_walks``, which calls a
node's method after everything inside it was rewritten. A method returns its very argument when it
has nothing to change, and where it may return None the node is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

if TYPE_CHECKING:
    from agenthost.protocol.versions.node_edits import Json


# The nodes that something larger may be made of, itself among them.
REFS: Final = ("content_ref",)
ATTACHMENTS: Final = ("attachment", *REFS)
MESSAGES: Final = ("message", *ATTACHMENTS)
RESULTS: Final = ("contents", *REFS)
CALLS: Final = ("tool_call", *MESSAGES, *RESULTS)
PARTS: Final = ("part", *CALLS)
TURNS: Final = ("turn", *PARTS)
PLUGINS: Final = ("customization", "child", "mcp_state")
CLIENT_PLUGINS: Final = ("client_plugin", "client_plugin_child", *PLUGINS)
SCHEMAS: Final = ("config_property",)
DEFINITIONS: Final = (
    *("automation_definition", "session_template"),
    *MESSAGES,
    *CLIENT_PLUGINS,
)


class Rewriter:
    """Rewrites single nodes of the wire model; subclasses say which."""

    # Whether anything of these is rewritten at all. Chats are long, and most steps change little or
    # nothing of what is in them.
    changes_refs: ClassVar[bool] = False
    changes_attachments: ClassVar[bool] = False
    changes_messages: ClassVar[bool] = False
    changes_results: ClassVar[bool] = False
    changes_calls: ClassVar[bool] = False
    changes_parts: ClassVar[bool] = False
    changes_turns: ClassVar[bool] = False
    changes_schemas: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        """Note what the subclass has to say."""
        cls.changes_refs = cls.changes_any(REFS)
        cls.changes_attachments = cls.changes_any(ATTACHMENTS)
        cls.changes_messages = cls.changes_any(MESSAGES)
        cls.changes_results = cls.changes_any(RESULTS)
        cls.changes_calls = cls.changes_any(CALLS)
        cls.changes_parts = cls.changes_any(PARTS)
        cls.changes_turns = cls.changes_any(TURNS)
        cls.changes_schemas = cls.changes_any(SCHEMAS)

    @classmethod
    def changes_any(cls, nodes: tuple[str, ...]) -> bool:
        """Say whether any of these nodes is rewritten, each named by its method."""
        return any(getattr(cls, node) is not getattr(Rewriter, node) for node in nodes)

    def message(self, message: Json) -> Json:
        """Rewrite a Message."""
        return message

    def attachment(self, attachment: Json) -> Json:
        """Rewrite a MessageAttachment."""
        return attachment

    def content_ref(self, node: Json) -> Json:
        """Rewrite a ContentRef, or a node that carries one's members among its own."""
        return node

    def contents(self, contents: list[Json], title: str | None) -> list[Json]:
        """Rewrite a list of ToolResultContent; ``title`` is its tool's display name, if known."""
        return contents

    def tool_call(self, call: Json) -> Json:
        """Rewrite a ToolCallState."""
        return call

    def part(self, part: Json) -> Json | None:
        """Rewrite a ResponsePart."""
        return part

    def turn(self, turn: Json) -> Json:
        """Rewrite a completed Turn."""
        return turn

    def active_turn(self, turn: Json) -> Json:
        """Rewrite an ActiveTurn."""
        return turn

    def chat_summary(self, summary: Json) -> Json:
        """Rewrite a ChatSummary, whole or partial, or the like members of a ChatState."""
        return summary

    def chat(self, state: Json) -> Json:
        """Rewrite a ChatState."""
        return state

    def session_summary(self, summary: Json) -> Json:
        """Rewrite a SessionSummary, whole or partial, or the like members of a SessionState."""
        return summary

    def listed_session(self, summary: Json) -> Json:
        """Rewrite a SessionSummary, whole or partial, in what a SessionState does not have so.

        Called after ``session_summary``, which the state shares.
        """
        return summary

    def session(self, state: Json) -> Json:
        """Rewrite a SessionState."""
        return state

    def input_needed(self, request: Json) -> Json | None:
        """Rewrite a SessionInputRequest."""
        return request

    def customization(self, customization: Json) -> Json:
        """Rewrite a top-level Customization."""
        return customization

    def child(self, child: Json) -> Json | None:
        """Rewrite a ChildCustomization."""
        return child

    def client_plugin(self, customization: Json) -> Json:
        """Rewrite a customization that a client publishes, as far as it differs from a host's."""
        return self.customization(customization)

    def client_plugin_child(self, child: Json) -> Json | None:
        """Rewrite a ChildCustomization of what a client publishes."""
        return self.child(child)

    def mcp_state(self, state: Json) -> Json:
        """Rewrite an McpServerState."""
        return state

    def changeset(self, changeset: Json) -> Json:
        """Rewrite a Changeset, which is an entry of a session's catalogue."""
        return changeset

    def changeset_file(self, file: Json) -> Json:
        """Rewrite a ChangesetFile."""
        return file

    def changeset_status(self, node: Json) -> Json:
        """Rewrite a ChangesetState's ``status`` and ``error``, or a ``statusChanged``'s."""
        return node

    def config_property(self, schema: Json) -> Json:
        """Rewrite a ConfigPropertySchema; called for those inside it as well, these first."""
        return schema

    def agent(self, agent: Json) -> Json:
        """Rewrite an AgentInfo."""
        return agent

    def terminal(self, state: Json) -> Json:
        """Rewrite a TerminalState."""
        return state

    def terminal_info(self, info: Json) -> Json:
        """Rewrite a TerminalInfo, or the like members of a TerminalState."""
        return info

    def claim(self, claim: Json) -> Json:
        """Rewrite a TerminalClaim."""
        return claim

    def annotation(self, annotation: Json) -> Json:
        """Rewrite an Annotation, or the like members of an ``annotations/updated``."""
        return annotation

    def automation(self, entry: Json) -> Json:
        """Rewrite an AutomationEntry."""
        return entry

    def automation_definition(self, definition: Json) -> Json:
        """Rewrite an AutomationDefinition, or the patch of one."""
        return definition

    def session_template(self, template: Json) -> Json:
        """Rewrite an AutomationSessionTemplate."""
        return template
