"""A model server on this machine: it answers each request with the next of its prepared streams."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

REQUEST_ID = "req-loopback-7"
"""What the server calls every request."""


@dataclass
class Loopback:
    """What it answers, and what it was asked."""

    answers: list[Any]
    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    connections: int = 0


@dataclass(frozen=True)
class Broken:
    """A stream whose connection breaks after these bytes."""

    data: bytes


@dataclass(frozen=True)
class Raw:
    """Bytes as they go over the wire, head and all, and the seconds for which the connection is then kept open."""

    data: bytes
    hold: float = 0


def stream(*output: dict[str, Any], status: str = "completed") -> list[dict[str, Any]]:
    """The events of one response with these output items."""
    usage = {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}
    response = {"id": "resp_1", "object": "response", "status": status, "output": list(output), "usage": usage}
    events: list[dict[str, Any]] = [{"type": "response.created", "response": {**response, "output": []}}]
    for item in output:
        texts = [part["text"] for part in item.get("content", []) if "text" in part]
        events += [{"type": "response.output_text.delta", "delta": text, "output_index": 0} for text in texts]
        events.append({"type": "response.output_item.done", "item": item, "output_index": 0})
    return [*events, {"type": f"response.{status}", "response": response}]


def message(text: str) -> dict[str, Any]:
    """A message of the model."""
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}


def call(name: str, arguments: dict[str, Any], call_id: str = "call_1") -> dict[str, Any]:
    """A function call of the model."""
    return {"type": "function_call", "id": "fc_1", "call_id": call_id, "name": name, "arguments": json.dumps(arguments)}


def _whole(answer: Any) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of what is sent at once."""
    if isinstance(answer, tuple):
        status, headers, body = answer
        return status, headers, body if isinstance(body, bytes) else json.dumps(body).encode()
    if not isinstance(answer, bytes):
        answer = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in answer).encode()
    return 200, {"Content-Type": "text/event-stream"}, answer


@contextmanager
def serve(answers: Sequence[Any]) -> Iterator[Loopback]:
    """Serves until the block is left.

    An answer is a list of events; bytes that stand for them; a status with headers and a body, which is JSON unless it
    is bytes; bytes with the seconds to wait after each of them; or a function that is handed the path and gives one of
    these. What is ``Broken`` is sent without its end, and what is ``Raw`` as it is.
    """
    loopback = Loopback(list(answers))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            loopback.connections += 1
            super().setup()

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            loopback.requests.append(json.loads(body))
            loopback.headers.append({name.lower(): value for name, value in self.headers.items()})
            loopback.paths.append(self.path)
            answer: Any = loopback.answers.pop(0)
            if isinstance(answer, Callable):
                answer = answer(self.path)
            if isinstance(answer, dict):
                self._drip(answer)
                return
            if isinstance(answer, Raw):
                self.wfile.write(answer.data)
                self.close_connection = True
                left.wait(answer.hold)
                return
            if isinstance(answer, Broken):
                self._begin({"Content-Type": "text/event-stream", "Content-Length": str(len(answer.data) + 1)})
                self.wfile.write(answer.data)
                self.close_connection = True
                return
            self._send(*_whole(answer))

        def _send(self, status: int, headers: dict[str, str], body: bytes) -> None:
            length = {"Content-Length": str(len(body))}
            self._begin({"Content-Type": "application/json", **headers, **length}, status)
            self.wfile.write(body)

        def _begin(self, headers: dict[str, str], status: int = 200) -> None:
            self.send_response(status)
            for name, value in {"X-Request-Id": REQUEST_ID, **headers}.items():
                self.send_header(name, value)
            self.end_headers()

        def _drip(self, pieces: dict[bytes, float]) -> None:
            self._begin({"Content-Type": "text/event-stream", "Connection": "close"})
            for piece, seconds in pieces.items():
                self.wfile.write(piece)
                if left.wait(seconds):
                    return

        def log_message(self, *args: object) -> None:
            """Says nothing."""

    left = threading.Event()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    loopback.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield loopback
    finally:
        left.set()
        server.shutdown()
        thread.join()
        server.server_close()
