"""Three servers of a group for tests in Python, and a connection that speaks RESP2 or RESP3."""

import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "lib"))
import ports  # noqa: E402

# Seconds after which a wait fails. Shared machines stand still for many seconds.
PATIENCE = 100
GROUP_ID = "00112233445566778899aabbccddeeff"


class ReplyError(Exception):
    """An error reply."""


class Connection:
    """A connection to one node, or to a server at a Unix socket."""

    def __init__(self, place, timeout=10):
        if isinstance(place, int):
            self.socket = socket.create_connection(("127.0.0.1", place), timeout)
        else:
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.connect(str(place))
        self.file = self.socket.makefile("rb")

    def close(self):
        self.file.close()
        self.socket.close()

    def send(self, *words):
        words = [str(word).encode() for word in words]
        self.socket.sendall(b"*%d\r\n" % len(words) + b"".join(
            b"$%d\r\n%s\r\n" % (len(word), word) for word in words))

    def read(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the node has closed the connection")
        kind, text = line[:1], line[1:-2]
        if kind == b"+":
            return text.decode()
        if kind == b"-":
            return ReplyError(text.decode())
        if kind == b":":
            return int(text)
        if kind == b"_" or text == b"-1":
            return None
        if kind == b"$":
            return self.file.read(int(text) + 2)[:-2].decode()
        if kind in b"*>~":
            return [self.read() for _ in range(int(text))]
        assert kind == b"%", line
        return {self.read(): self.read() for _ in range(int(text))}

    def ask(self, *words):
        """Returns the reply; raises ReplyError for an error."""
        self.send(*words)
        reply = self.read()
        if isinstance(reply, ReplyError):
            raise reply
        return reply

    def refusal(self, *words):
        """Returns the text of the error that the command must get."""
        try:
            reply = self.ask(*words)
        except ReplyError as error:
            return str(error)
        raise AssertionError(f"{words} was answered with {reply!r}")


def wait_until(condition, what):
    """Returns what the condition returns, once that is true."""
    end = time.monotonic() + PATIENCE
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > end:
            raise AssertionError(f"waited in vain until {what}")
        time.sleep(0.002)


class Node:
    """A server of a group. Its ports stay the same when it is started again."""

    def __init__(self, number, directory, options):
        self.number = number
        self.directory = directory / str(number)
        self.directory.mkdir()
        self.reserved = [ports.Reserved(), ports.Reserved()]
        self.port, self.group_port = (reserved.port for reserved in self.reserved)
        self.options = options
        self.process = None

    def __repr__(self):
        return f"node {self.number}"

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def start(self, *options):
        """Starts, and waits until the node answers."""
        with open(self.directory / "log.txt", "ab") as log:
            self.process = subprocess.Popen(
                [os.environ["QLESSD"], "--dir", str(self.directory), "--port", str(self.port),
                 "--bind", "127.0.0.1", "--databases", "1",
                 "--replication-id", str(self.number),
                 "--replication-port", str(self.group_port), *self.options, *options],
                stdout=log, stderr=log)
        wait_until(self.answers, f"{self} answers")

    def answers(self):
        assert self.process.poll() is None, (self.directory / "log.txt").read_text()
        try:
            self.info()
        except (OSError, ReplyError):
            return False
        return True

    def info(self):
        """Returns INFO replication as a dictionary."""
        connection = Connection(self.port)
        try:
            text = connection.ask("INFO", "replication")
        finally:
            connection.close()
        return dict(line.split(":", 1) for line in text.split("\r\n") if ":" in line)

    def leads(self):
        try:
            return self.info()["role"] == "master"
        except OSError:  # such as the end of all connections when it ceases to lead
            return False

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait()
        for reserved in self.reserved:
            reserved.close()


class Group:
    """A group with `count` nodes. `options` are those of all nodes."""

    def __init__(self, *options, count=3):
        self.directory = tempfile.TemporaryDirectory(prefix="qlessd-test-")
        self.nodes = [Node(number, pathlib.Path(self.directory.name), options)
                      for number in range(1, count + 1)]

    def __enter__(self):
        members = " ".join(f"{node.number}=127.0.0.1:{node.group_port}" for node in self.nodes)
        try:
            for node in self.nodes:
                node.start("--begin-group", "--group-id", GROUP_ID, "--group-members", members)
            self.leader()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for node in self.nodes:
            node.stop()
        self.directory.cleanup()

    def leader(self, other_than=None):
        """Waits until a node leads, and returns it."""
        return wait_until(lambda: next((node for node in self.nodes
                                        if node is not other_than and node.leads()), None),
                          "a node leads")

    def agree(self):
        """Waits until all nodes know the same leader, and returns it with those that follow."""
        def one_leads():
            leaders = [node for node in self.nodes if node.leads()]
            try:
                told = {node.info()["group_leader_address"] for node in self.nodes}
            except OSError:
                return None
            return leaders if [node.address for node in leaders] == list(told) else None
        leader, = wait_until(one_leads, "the nodes agree about the leader")
        return leader, [node for node in self.nodes if node is not leader]
