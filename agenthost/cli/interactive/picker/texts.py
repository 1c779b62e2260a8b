"""What the session picker says."""

from __future__ import annotations

PROMPT = "search "
READING = "reading the list of sessions"
NO_MATCH = "no session matches"
ONLY_NEW = "no sessions yet"

KEYS = (
    "Enter opens · Ctrl-N new · Ctrl-X trash · Ctrl-Z takes it back · Esc leaves",
    "Enter opens · ^N new · ^X trash · ^Z back · Esc",
    "Enter · ^N new · ^X trash · Esc",
)
"""The keys, in the words that fit."""

VIEWER_KEYS = ("Enter opens, read-only · Esc leaves", "Enter opens · Esc leaves")

READ_ONLY = "your token is for reading only"
IS_OPEN = "you are in this session; leave it first"
CONNECTED_AGAIN = "connected again"
NOT_CONNECTED = "there is no connection to the host now"
NOTHING_TO_TAKE_BACK = "nothing was moved to the trash here"


def new_session(folder: str, agent: str) -> str:
    """Return the row that starts a session."""
    where = f" in {folder}" if folder else ""
    return f"+ new session{where}" + (f" ({agent})" if agent else "")


def counted(shown: int, known: int) -> str:
    """Return how many sessions are listed, of how many."""
    noun = "session" if known == 1 else "sessions"
    return f"{known:,} {noun}" if shown == known else f"{shown:,} of {known:,} {noun}"


def ends_work(doing: str) -> str:
    """Return the warning before a session that is at work is moved to the trash."""
    return f"this session is at work ({doing}); Ctrl-X again ends that and moves it to the trash"


def in_trash(title: str) -> str:
    """Return what was done to a session, and how to undo it."""
    return f"moved to the trash: {title} · Ctrl-Z takes it back"


def removed(title: str) -> str:
    """Return what was done to a session that held nothing."""
    return f"removed: {title}"


def restored(title: str) -> str:
    """Return that a session is back."""
    return f"back from the trash: {title}"


def failed(what: str, why: str) -> str:
    """Return what could not be done to a session, and why."""
    return f"{what}: {why}"


def lost(reason: str) -> str:
    """Return that the host is away; the list is what was known last."""
    return f"connection lost ({reason}); trying again"
