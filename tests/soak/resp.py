"""A minimal client of the protocol. The caller determines every byte that it sends."""

import socket

READ_BYTES = 65536


class ServerError(Exception):
    """An error reply of the server."""


class Peer:
    """One connection."""

    def __init__(self, port, timeout=30, tls=None):
        """Connect, encrypted if `tls` is a context of ssl."""
        self.socket = socket.create_connection(("127.0.0.1", port), timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls:
            self.socket = tls.wrap_socket(self.socket)
        self.input = self.socket.makefile("rb", READ_BYTES)

    def close(self):
        self.input.close()
        self.socket.close()

    def send_raw(self, data):
        self.socket.sendall(data)

    def send(self, *words):
        self.socket.sendall(encode(words))

    def receive(self):
        """The next reply. An error is returned, not raised."""
        line = self.input.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the server closed the connection")
        kind, rest = line[:1], line[1:-2]
        if kind == b"+":
            return rest.decode()
        if kind == b"-":
            return ServerError(rest.decode(errors="replace"))
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return self._receive_bulk(int(rest))
        if kind == b"*":
            count = int(rest)
            return None if count < 0 else [self.receive() for _ in range(count)]
        raise ConnectionError(f"no reply begins with {line[:40]!r}")

    def _receive_bulk(self, length):
        if length < 0:
            return None
        data = self.input.read(length + 2)
        if len(data) != length + 2:
            raise ConnectionError("the server closed the connection within a reply")
        return data[:-2].decode(errors="replace")

    def ask(self, *words):
        """The reply. An error is returned, not raised."""
        self.send(*words)
        return self.receive()

    def call(self, *words):
        reply = self.ask(*words)
        if isinstance(reply, ServerError):
            raise reply
        return reply

    def pipeline(self, requests):
        """The replies to several requests, including errors."""
        self.socket.sendall(b"".join(encode(words) for words in requests))
        return [self.receive() for _ in requests]


def encode(words):
    parts = [b"*%d\r\n" % len(words)]
    for word in words:
        data = word if isinstance(word, bytes) else str(word).encode()
        parts.append(b"$%d\r\n%s\r\n" % (len(data), data))
    return b"".join(parts)
