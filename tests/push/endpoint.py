"""A scripted HTTP endpoint, and what it was sent.

It answers each request as a function of the test says. A server of its own, because the tests need
answers that no library would send.
"""

import json
import socket
import ssl
import threading

HEADERS_MAX = 64 * 1024


class Request:
    """A request as it arrived."""

    def __init__(self, path, headers, body):
        self.path = path
        self.headers = headers
        self.body = body

    @property
    def json(self):
        return json.loads(self.body)


class Reset(Exception):
    """The connection is to be reset."""


class Close(Exception):
    """The connection is to be closed."""


def response(status, body=b"", headers=()):
    """The bytes of an ordinary answer."""
    lines = [f"HTTP/1.1 {status} Some Reason", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


class Endpoint:
    """Answers with what `answer(request)` returns: bytes, or an iterable of them, which is sent as it
    comes. It may raise Reset or Close."""

    def __init__(self, answer, tls=None):
        self.answer = answer
        self.tls = tls
        self.requests = []
        self.running = 0
        self.most_running = 0
        self.connections = 0
        self.lock = threading.Lock()
        self.is_over = False
        self.sockets = set()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def url(self, path="/job"):
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}{path}"

    def close(self):
        self.is_over = True
        # A thread that waits in accept() would keep the socket listening.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        with self.lock:
            sockets = list(self.sockets)
        for connection in sockets:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def accept(self):
        while not self.is_over:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with self.lock:
            self.connections += 1
            self.sockets.add(connection)
        try:
            if self.tls is not None:
                connection = self.tls.wrap_socket(connection, server_side=True)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            stream = connection.makefile("rb")
            while self.serve_one(connection, stream):
                pass
        except Reset:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        except (Close, OSError, ssl.SSLError, ValueError):
            pass
        finally:
            with self.lock:
                self.sockets.discard(connection)
            connection.close()

    @staticmethod
    def read(stream):
        line = stream.readline(HEADERS_MAX)
        if not line:
            raise Close
        _, path, _ = line.decode("latin-1").split(" ")
        headers = {}
        while True:
            line = stream.readline(HEADERS_MAX).decode("latin-1").rstrip("\r\n")
            if not line:
                break
            name, value = line.split(":", 1)
            headers[name.lower()] = value.strip()
        return Request(path, headers, stream.read(int(headers.get("content-length", 0))))

    def serve_one(self, connection, stream):
        request = self.read(stream)
        with self.lock:
            self.requests.append(request)
            self.running += 1
            self.most_running = max(self.most_running, self.running)
        counts = True
        try:
            answer = self.answer(request)
            # The client may send the next request as soon as it has the answer.
            with self.lock:
                self.running -= 1
                counts = False
            if isinstance(answer, bytes):
                connection.sendall(answer)
                return True
            for piece in answer:
                connection.sendall(piece)
            return False
        finally:
            if counts:
                with self.lock:
                    self.running -= 1
