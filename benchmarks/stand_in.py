"""AWS for a cold function: canned answers over loopback, so that the function's own time is all that counts.

Knows the calls that a first event makes. A call that it does not know is answered with an error that names it.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]


class StandIn:
    """`items` are DynamoDB items by the last word of their table's name, whatever key is asked for; of incidents only
    by its own, since there is one for each name. `answers` are those of other operations. `calls` counts what was
    asked."""

    def __init__(self, items: Mapping[str, Json], answers: Mapping[str, Json]) -> None:
        self.items, self.answers = dict(items), dict(answers)
        self.calls: list[str] = []

    def answer(self, operation: str, asked: Json) -> Json | None:
        """The reply to an operation; None when it is not known."""
        self.calls.append(operation)
        match operation:
            case "GetItem":
                table = str(asked["TableName"]).rpartition("-")[2]
                item = self.items.get(table)
                another = table == "incidents" and item and item["incident_id"] != asked["Key"]["incident_id"]
                return {"Item": item} if item and not another else {}
            case "PutItem":
                return {}
            case "Query":
                return {"Items": [], "Count": 0, "ScannedCount": 0}
            case "GetParameter":
                return {"Parameter": {"Name": asked["Name"], "Value": self.answers[asked["Name"].rpartition("/")[2]]}}
            case "SendMessage":
                digest = hashlib.md5(asked["MessageBody"].encode()).hexdigest()
                return {"MessageId": "m-1", "MD5OfMessageBody": digest}
        return self.answers.get(operation)


@contextmanager
def listening(stand_in: StandIn) -> Iterator[str]:
    """The stand-in's address while the block runs."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it
            return

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            target = self.headers.get("X-Amz-Target", "")
            operation = target.rpartition(".")[2] or self.path.rpartition("/")[2]
            known = stand_in.answer(operation, json.loads(body) if target else {})
            status = 200 if known is not None else 400
            text = json.dumps({"__type": "UnknownOperation", "message": operation} if known is None else known)
            self.send_response(status)
            self.send_header("Content-Type", "application/x-amz-json-1.1" if target else "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
