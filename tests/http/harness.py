"""Shared by the tests of the HTTP API: a qlessd of their own, requests, and the cases.

QLESSD is the path of the program. A case is a function whose name is a sentence. It gets a new
server without jobs.
"""

import base64
import http.client
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))
import ports  # noqa: E402

QLESSD = os.environ["QLESSD"]
PATIENCE_S = 100


class Answer:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def code(self):
        return self.json["error"]["code"]

    @property
    def message(self):
        return self.json["error"]["message"]


def basic(user, password):
    """The header field of a user."""
    token = base64.b64encode(f"{user}:{password}".encode()).decode()
    return {"Authorization": f"Basic {token}"}


class Client:
    """A connection that is kept alive."""

    def __init__(self, port, user=None, password=None):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        self.headers = {}
        if user is not None:
            self.headers.update(basic(user, password))

    def send(self, method, path, body=None, headers=None):
        """Send a request. The body is bytes, or a value that becomes JSON."""
        fields = dict(self.headers, **(headers or {}))
        if body is not None:
            fields.setdefault("Content-Type", "application/json")
            if not isinstance(body, bytes):
                body = json.dumps(body).encode()
        self.connection.request(method, path, body, fields)

    def receive(self):
        response = self.connection.getresponse()
        return Answer(response.status, response.headers, response.read())

    def call(self, method, path, body=None, headers=None):
        self.send(method, path, body, headers)
        return self.receive()

    def ok(self, method, path, body=None, status=200, **options):
        """The value in an answer, which must have this status."""
        answer = self.call(method, path, body, **options)
        if answer.status != status:
            raise AssertionError(
                f"{method} {path}: {answer.status} instead of {status}\n{answer.body.decode()}")
        return answer.json

    def fails(self, status, code, method, path, body=None, **options):
        """The message of an answer, which must be an error."""
        answer = self.call(method, path, body, **options)
        if (answer.status, answer.code) != (status, code):
            raise AssertionError(
                f"{method} {path}: {answer.status} {answer.body.decode()}\n"
                f"instead of {status} {code}")
        return answer.message

    def get(self, path, **options):
        return self.ok("GET", path, **options)

    def post(self, path, body=None, **options):
        return self.ok("POST", path, body, **options)

    def close(self):
        self.connection.close()


class Server:
    def __init__(self, *options):
        self.dir = tempfile.TemporaryDirectory(prefix="qlessd-http-")
        self.reserved = [ports.Reserved()]
        self.port = self.reserved[0].port
        self.socket = os.path.join(self.dir.name, "s")
        self.clients = []
        self.options = [*options]
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [QLESSD, "--port", "0", "--unixsocket", self.socket, "--dir", self.dir.name,
             "--run-as", "", "--daemonize", "no", "--http-port", str(self.port), *self.options],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(self.is_ready)

    def is_ready(self):
        if self.process.poll() is not None:
            raise AssertionError(f"qlessd ended: {self.process.returncode}")
        try:
            client = Client(self.port)
            status = client.call("GET", "/readyz").status
            client.close()
            return status == 200
        except OSError:
            return False

    def client(self, user=None, password=None):
        client = Client(self.port, user, password)
        self.clients.append(client)
        return client

    def command(self, *words):
        """Send a command in RESP. The reply is a line, or a string."""
        with socket.socket(socket.AF_UNIX) as peer:
            peer.settimeout(PATIENCE_S)
            peer.connect(self.socket)
            words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
            peer.sendall(b"*%d\r\n" % len(words) +
                         b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
            stream = peer.makefile("rb")
            line = stream.readline().rstrip(b"\r\n")
            if line.startswith(b"-"):
                raise AssertionError(line.decode())
            if line.startswith(b"$"):
                return stream.read(int(line[1:]))
            return line[1:]

    def stop(self):
        for client in self.clients:
            client.close()
        self.process.terminate()
        code = self.process.wait(PATIENCE_S)
        for reserved in self.reserved:
            reserved.close()
        self.dir.cleanup()
        if code != 0:
            raise AssertionError(f"qlessd ended with {code}")


def read_answer(stream):
    """One of several answers to requests that were sent at once."""
    status, length = int(stream.readline().split()[1]), 0
    while (line := stream.readline()) != b"\r\n":
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    return Answer(status, {}, stream.read(length))


def wait_until(condition):
    end = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("waited in vain")
        time.sleep(0.005)


def equal(expected, found):
    if expected != found:
        raise AssertionError(f"expected\n{expected}\nbut found\n{found}")


def has(expected, found):
    """The object has these members."""
    equal(expected, {name: found.get(name) for name in expected})


def contains(part, text):
    if part not in text:
        raise AssertionError(f"{part!r} is not in\n{text}")


def run(cases):
    """Run the cases whose names contain an argument, or all of them, and print TAP."""
    chosen = [case for case in cases
              if len(sys.argv) < 2 or any(word in case.__name__ for word in sys.argv[1:])]
    print(f"1..{len(chosen)}")
    failed = 0
    for number, case in enumerate(chosen, 1):
        server = None
        try:
            server = Server(*getattr(case, "options", ()))
            case(server)
            server.stop()
            server = None
            print(f"ok {number} - {case.__name__}", flush=True)
        except Exception:
            failed += 1
            print(f"not ok {number} - {case.__name__}")
            for line in traceback.format_exc().splitlines():
                print(f"# {line}")
            sys.stdout.flush()
            if server is not None:
                server.process.kill()
                server.process.wait()
    return failed != 0
