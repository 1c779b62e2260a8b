"""Taking secrets out of what an agent process says before it is logged or shown.

A best effort: it knows the values of variables whose names sound secret, and the usual shapes of
tokens. It cannot know a secret that looks like a word.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

HIDDEN = "***"
# A shorter value would blot out ordinary words.
SHORTEST_SECRET = 6

_SECRET_NAME = re.compile(r"key|token|secret|passw|credential|auth(?!or)", re.IGNORECASE)
_BEARER = re.compile(r"\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{6,}", re.IGNORECASE)
_ASSIGNED = re.compile(
    r"((?:api[_-]?key|access[_-]?token|token|secret|password|passwd)[\"']?\s*[=:]\s*[\"']?)"
    r"[^\s\"',;]+",
    re.IGNORECASE,
)
# The beginnings by which well-known services mark their tokens.
_MARKED = re.compile(
    r"\b(?:sk|pk|rk|gh[opsur]|github_pat|glpat|xox[abprs]|AKIA|AIza)[-_A-Za-z0-9]{10,}"
)


class Redactor:
    """Hides the secrets of an environment, and whatever looks like one."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        values = {
            value
            for name, value in environment.items()
            if _SECRET_NAME.search(name) and len(value) >= SHORTEST_SECRET
        }
        # Longest first: one secret may begin with another.
        known = "|".join(re.escape(value) for value in sorted(values, key=len, reverse=True))
        self._known = re.compile(known) if known else None

    def __repr__(self) -> str:
        return "Redactor()"

    def __call__(self, text: str) -> str:
        """Return the text without secrets."""
        if self._known is not None:
            text = self._known.sub(HIDDEN, text)
        text = _BEARER.sub(rf"\1 {HIDDEN}", text)
        text = _ASSIGNED.sub(rf"\1{HIDDEN}", text)
        return _MARKED.sub(HIDDEN, text)
