"""How much a server, its worker and a bridge may send, ask and take."""

MOST_LINE = 4 * 1024 * 1024
"""Bytes of one message of a server: nothing that a model reads is longer."""

MOST_WORKER_LINE = 4 * MOST_LINE
"""Bytes of one message between host and worker: a server's, spelled at its worst."""

MOST_JUNK = 1024 * 1024
"""Bytes of lines that are no messages, until a server is given up."""

MOST_BAD_MESSAGES = 100
"""Messages that cannot be read, until a server is given up."""

NOTICE_RATE = 8 * 1024 * 1024
"""Bytes of notifications in a second; what comes faster waits in the server."""

MOST_OPEN_REQUESTS = 64
"""Requests of a server that are not answered yet, until it is given up."""

MOST_CLIENT_REQUESTS = 64
"""Requests of clients that a server has not answered yet; the next are refused."""

MOST_TOOLS = 256
MOST_TOOL_PAGES = 32
MOST_TOOL_BYTES = 512 * 1024
"""Bytes of all tools of a server, of which the host keeps many times as much: no model is given as
much either."""

LONGEST_TOOL_NAME = 128
LONGEST_TOOL_TITLE = 200
LONGEST_TOOL_DESCRIPTION = 16 * 1024
MOST_SCHEMA_BYTES = 256 * 1024
MOST_TOOL_META = 16 * 1024

MOST_QUESTIONS = 8
"""Questions of one call that reach a person; the next are declined."""

MOST_DECLINED = 32
"""Questions of one call that are declined unseen, until the call is ended."""

CALL_PATIENCE = 600.0
"""Seconds without an answer or progress, until a call is ended."""

MOST_LOG_RATE = 64 * 1024
"""Bytes of log in one interval; the rest is counted."""

LOG_INTERVAL = 0.1

PROGRESS_INTERVAL = 0.1

TAIL = 300
"""Characters of standard error that are told with a failure."""

MOST_METADATA = 64 * 1024
METADATA_PATIENCE = 5.0

PATIENCE_CLOSED = 1.0
"""Seconds between closing a server's input and asking it to end."""

PATIENCE_ASKED = 1.0
"""Seconds between asking a server to end and making it."""
