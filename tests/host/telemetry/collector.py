"""A small OTLP collector as a process of its own, on the official protobufs.

Run as ``python -m tests.host.telemetry.collector [STATUS]``: it prints its port, then one JSON
line for every request that it is sent.
"""

from __future__ import annotations

import gzip
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

REQUESTS: dict[str, Any] = {
    "/v1/traces": ExportTraceServiceRequest,
    "/v1/logs": ExportLogsServiceRequest,
    "/v1/metrics": ExportMetricsServiceRequest,
}
STATUS = int(sys.argv[1]) if len(sys.argv) > 1 else 200
_PRINTING = threading.Lock()


class Collector(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        request = REQUESTS[self.path]()
        request.ParseFromString(body)
        told = {
            "path": self.path,
            "headers": {name.lower(): value for name, value in self.headers.items()},
            "request": MessageToDict(request, use_integers_for_enums=True),
        }
        with _PRINTING:
            print(json.dumps(told), flush=True)
        self.send_response(STATUS)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    print(server.server_port, flush=True)
    server.serve_forever()
