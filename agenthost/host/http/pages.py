"""The HTTP pages: the web page and its files, /healthz, /metrics."""

from __future__ import annotations

import html
from functools import cached_property
from pathlib import Path

from agenthost.host.core import HostCore
from agenthost.host.http.admission import refuse_page
from agenthost.host.http.assets import STATIC, Assets
from agenthost.host.http.messages import HttpRequest, HttpResponse
from agenthost.host.trust import Gate
from agenthost.host.trust.gate import is_place

# In the place of the web page where that was not built.
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>agenthost</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 42rem; margin: 4rem auto; padding: 0 1rem;
  color-scheme: light dark; }}
code, pre {{ font: 14px/1.5 ui-monospace, monospace; }}
pre {{ padding: 1rem; border: 1px solid #8886; border-radius: 6px; overflow: auto; }}
</style>
</head>
<body>
<h1>agenthost</h1>
<p>This is an agent host: it runs agent sessions that any number of clients can share over the
<em>Agent Host Protocol</em>.</p>
<p><strong>The page is not built: run <code>make setup</code></strong>, then start the host again.
Every other client works without it.</p>
<h2>Connect</h2>
<p>The WebSocket is at this address; the token was printed when the host started.</p>
<pre>ws://{host}/?tkn=TOKEN</pre>
<p>In Visual Studio Code, add to your settings:</p>
<pre>"chat.remoteAgentHostsEnabled": true,
"chat.remoteAgentHosts": [
  {{ "name": "agenthost", "address": "{host}", "connectionToken": "TOKEN" }}
]</pre>
<h2>Watch</h2>
<p><code>/healthz</code> says whether the host is alive; <code>/metrics</code> has its counters for
Prometheus (send the token as a Bearer header).</p>
</body>
</html>
"""

# What programs ask for, again and again.
_WATCHED = ("/healthz", "/metrics")

# The text format's own name; without a character set some would read it as Latin-1.
_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"

# The page needs its own styles and nothing else, and belongs into nobody's frame.
_PAGE_POLICY = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}


class Pages:
    """Answers plain HTTP requests."""

    def __init__(self, core: HostCore, gate: Gate, static: Path = STATIC) -> None:
        self._core = core
        self._gate = gate
        self._static = static

    @cached_property
    def _assets(self) -> Assets:
        # Not before somebody asks: many hosts are watched by programs alone, or by nobody.
        return Assets.load(self._static)

    def __call__(self, request: HttpRequest) -> HttpResponse | None:
        """Return the page, a refusal, or None for 404."""
        asset = None if request.path in _WATCHED else self._assets.answer(request)
        if asset is not None:
            return asset
        refusal = refuse_page(self._gate, request)
        if refusal is not None:
            return refusal
        if is_place(request.path):
            return _stand_in(request)
        match request.path:
            case "/healthz":
                ailment = self._ailment()
                return _text(f"{ailment or 'ok'}\n", status=503 if ailment else 200)
            case "/metrics":
                return _text(self._core.metrics.render(), _PROMETHEUS)
        return None

    def _ailment(self) -> str | None:
        if self._core.writer.ledger.failure is not None:
            return "storage failed"
        machines = self._core.machines
        return None if machines is None else machines.ailment()


def _stand_in(request: HttpRequest) -> HttpResponse:
    host = html.escape(request.headers.get("Host") or "localhost")
    body = _PAGE.format(host=host).encode(errors="replace")
    return HttpResponse(200, body, "text/html; charset=utf-8", headers=_PAGE_POLICY)


def _text(
    body: str, content_type: str = "text/plain; charset=utf-8", status: int = 200
) -> HttpResponse:
    return HttpResponse(status, body.encode(), content_type)
