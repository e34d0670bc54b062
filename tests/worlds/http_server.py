"""A smart-HTTP git server on loopback: the real `git http-backend`, with the ways in which a server goes wrong."""

import base64
import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from dataclasses import dataclass
from email.message import Message
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Literal, Self
from urllib.parse import unquote, urlsplit

from .repository import GIT, NEUTRAL

Fault = int | Literal["silent", "hang-up"]
When = Literal["every", "push", "after-push"]


@dataclass(frozen=True)
class Request:
    """One request as it came in; `path` has the query in it."""

    method: str
    path: str
    headers: Message


class HttpServer:
    """The repositories in a directory, served on a free port of 127.0.0.1 until `close`.

    `auth`: the user and password that are asked for (Basic); None lets everybody in.
    `fault`: a status to answer with, `silent` (never answers) or `hang-up` (closes the connection without an answer).
    `fault_at`: on `every` request, instead of a `push`, or `after-push` (the push has been done).
    All three can be changed while it runs.
    `requests`: those seen so far. `silenced`: set once a request waits for an answer that will not come.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.auth: tuple[str, str] | None = None
        self.fault: Fault | None = None
        self.fault_at: When = "every"
        self.requests: list[Request] = []
        self.silenced = threading.Event()
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), name="git-http")
        self._thread.start()

    @property
    def port(self) -> int:
        return self._server.server_address[1]

    def url_of(self, name: str, userinfo: str = "") -> str:
        """The address of the repository `name`, with `user:password` in it if given."""
        return f"http://{userinfo + '@' if userinfo else ''}127.0.0.1:{self.port}/{name}"

    def close(self) -> None:
        """Ends what is being answered, then every thread; raises what a handler of a request has raised."""
        self._server.shutdown()
        self._server.end_requests()
        self._server.server_close()  # joins the threads of the requests
        self._thread.join()
        if self._server.raised:
            raise self._server.raised[0]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    block_on_close = True

    def __init__(self, owner: HttpServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.owner = owner
        self.closing = threading.Event()
        self.connections: set[socket.socket] = set()
        self.backends: set[subprocess.Popen[bytes]] = set()
        self.lock = threading.Lock()
        self.raised: list[BaseException] = []

    def end_requests(self) -> None:
        """Closes the connections and kills the backends that are still there."""
        with self.lock:
            self.closing.set()
            for connection in self.connections:
                with contextlib.suppress(OSError):  # the client may have gone
                    connection.shutdown(socket.SHUT_RDWR)
            for backend in self.backends:
                with contextlib.suppress(ProcessLookupError):  # it has just ended
                    os.killpg(backend.pid, signal.SIGKILL)

    def handle_error(self, request: object, client_address: object) -> None:
        error = sys.exception()
        if error is not None and not isinstance(error, ConnectionError):  # a client that was killed hangs up
            self.raised.append(error)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # to a server of 1.0 curl refuses to send chunks

    @property
    def running(self) -> _Server:
        assert isinstance(self.server, _Server)
        return self.server

    def setup(self) -> None:
        super().setup()
        with self.running.lock:
            self.running.connections.add(self.connection)

    def finish(self) -> None:
        with self.running.lock:
            self.running.connections.discard(self.connection)
        super().finish()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: `requests` is the log."""

    def do_GET(self) -> None:
        self._serve(b"")

    def do_POST(self) -> None:
        self._serve(self._body())

    def _serve(self, body: bytes) -> None:
        owner, url = self.running.owner, urlsplit(self.path)
        owner.requests.append(Request(self.command, self.path, self.headers))
        # "0000" is the empty request by which git tries its credentials before a large push.
        is_push = self.command == "POST" and url.path.endswith("/git-receive-pack") and body != b"0000"
        if owner.fault is not None and (owner.fault_at == "every" or (owner.fault_at == "push" and is_push)):
            return self._fail(owner.fault)
        if owner.auth is not None:
            expected = "Basic " + base64.b64encode(":".join(owner.auth).encode()).decode()
            if self.headers.get("Authorization") != expected:
                return self._fail(401)
        answer = self._backend(url.path, url.query, body)
        if owner.fault is not None and owner.fault_at == "after-push" and is_push:
            return self._fail(owner.fault)
        if not answer:
            return self._fail("hang-up")
        head, _, content = answer.partition(b"\r\n\r\n")
        headers = BytesParser().parsebytes(head)
        return self._send(int(headers.get("Status", "200").split()[0]), headers, content)

    def _fail(self, fault: Fault) -> None:
        self.close_connection = True
        if fault == "silent":
            self.running.owner.silenced.set()
            self.running.closing.wait()
        elif fault != "hang-up":
            headers = Message()
            if fault == 401:
                headers["WWW-Authenticate"] = 'Basic realm="git"'
            self._send(fault, headers, b"")

    def _send(self, status: int, headers: Message, content: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            if name.lower() not in {"status", "content-length"}:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Connection", "close")  # also makes the handler end
        self.end_headers()
        self.wfile.write(content)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self._exactly(int(self.headers.get("Content-Length", "0")))
        chunks: list[bytes] = []
        while size := int(self._line().split(b";")[0], 16):
            chunks.append(self._exactly(size))
            self._line()
        while self._line().strip():
            pass  # trailers
        return b"".join(chunks)

    def _exactly(self, size: int) -> bytes:
        content = self.rfile.read(size)
        if len(content) < size:
            raise ConnectionAbortedError
        return content

    def _line(self) -> bytes:
        line = self.rfile.readline()
        if not line:
            raise ConnectionAbortedError
        return line

    def _backend(self, path: str, query: str, body: bytes) -> bytes:
        """What `git http-backend` answers, headers and all; nothing if it was killed."""
        server = self.running
        user = server.owner.auth
        environment = {
            **NEUTRAL,
            "GIT_PROJECT_ROOT": str(server.owner.directory),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": unquote(path),
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),  # it unpacks gzip itself
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "REMOTE_ADDR": "127.0.0.1",
            **({"REMOTE_USER": user[0]} if user else {}),
        }
        with server.lock:
            if server.closing.is_set():
                return b""
            backend = subprocess.Popen(
                [GIT, "http-backend"],
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            server.backends.add(backend)
        with backend:
            answer, _ = backend.communicate(body)
        with server.lock:
            server.backends.discard(backend)
        return answer
