"""What the tests of the web page stand on: the built page and a browser."""

from __future__ import annotations

from pathlib import Path

import pytest

from agenthost.host.http.assets import STATIC

ROOT = Path(__file__).parents[2]

page_required = pytest.mark.skipif(
    not (STATIC / "index.html").exists(), reason="the web page is not built: make web"
)
