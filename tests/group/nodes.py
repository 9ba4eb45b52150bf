"""The daemons of a group, with a directory for each of them."""

import shutil
import signal
import socket
import subprocess
import time

import network
from ports import Reserved
from resp import Peer, READ_BYTES, ServerError

GROUP_ID = "00112233445566778899aabbccddeeff"
REPLICATION_PORT = 7539  # in a network of its own
START_SECONDS = 60
END_SECONDS = 60


class UnixPeer(Peer):
    """A connection by the Unix socket, which no fault of the network cuts."""

    def __init__(self, path, timeout):  # pylint: disable=super-init-not-called
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(timeout)
        self.socket.connect(str(path))
        self.input = self.socket.makefile("rb", READ_BYTES)


class Node:
    def __init__(self, group, number):
        self.group, self.number = group, number
        self.directory = group.directory / f"node{number}"
        self.path = group.directory / f"socket{number}"
        self.log = group.directory / f"log{number}"
        self.process = None
        self.is_stopped = False
        self.port = None if group.network else Reserved()

    def address(self):
        if self.group.network:
            return f"{network.address(self.number)}:{REPLICATION_PORT}"
        return f"127.0.0.1:{self.port.port}"

    def launch(self, begins=False):
        host, _, port = self.address().rpartition(":")
        words = self.group.network.command(self.number) if self.group.network else []
        words = words + [
            str(self.group.program), "--port", "0", "--unixsocket", str(self.path),
            "--dir", str(self.directory), "--logfile", str(self.log), "--databases", "1",
            "--replication-id", str(self.number),
            "--replication-bind", host, "--replication-port", port,
            "--replication-announce", f"{host}:{1000 + self.number}",
            "--replication-election-timeout", str(self.group.election_ms),
            "--replication-tls", "no",
        ] + self.group.directives
        if begins:
            self.directory.mkdir()
            words += ["--begin-group", "--group-id", GROUP_ID, "--group-members",
                      " ".join(f"{n.number}={n.address()}" for n in self.group.nodes)]
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL)

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def connect(self, timeout):
        return UnixPeer(self.path, timeout)

    def info(self):
        """The fields of INFO replication, or None if the node does not answer."""
        try:
            peer = self.connect(1)
        except OSError:
            return None
        try:
            text = peer.ask("info", "replication")
        except (OSError, ConnectionError):
            return None
        finally:
            peer.close()
        if isinstance(text, ServerError):
            return None
        lines = (line.partition(":") for line in text.splitlines() if ":" in line)
        fields = {name: value for name, _, value in lines}
        return fields if "group_term" in fields else None  # it is loading

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.is_stopped = False

    def stop(self):
        self.process.send_signal(signal.SIGSTOP)
        self.is_stopped = True

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)
        self.is_stopped = False

    def end(self):
        """The exit status after SIGTERM."""
        self.process.terminate()
        try:
            return self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            return None


class Group:
    def __init__(self, program, directory, count, net=None, election_ms=400, directives=()):
        self.program, self.directory, self.network = program, directory, net
        self.election_ms, self.directives = election_ms, list(directives)
        self.nodes = []
        for number in range(1, count + 1):
            self.nodes.append(Node(self, number))

    def begin(self):
        for node in self.nodes:
            node.launch(begins=True)

    def leader(self):
        """The node that leads in the highest term, or None."""
        best, best_term = None, -1
        for node in self.nodes:
            info = node.info() if node.is_running() and not node.is_stopped else None
            if info and info["role"] == "master" and int(info["group_term"]) > best_term:
                best, best_term = node, int(info["group_term"])
        return best

    def wait_for_leader(self):
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            leader = self.leader()
            if leader:
                return leader
            time.sleep(0.01)
        raise RuntimeError(f"no node leads within {START_SECONDS} seconds")

    def positions(self):
        """Positions of each node: (last, commit, applied). None: it does not answer."""
        infos = [node.info() for node in self.nodes]
        fields = ("group_last", "group_commit", "group_applied")
        return [info and tuple(int(info[f]) for f in fields) for info in infos]

    def wait_until_equal(self):
        """The last index after all nodes have all entries, or None if that takes too long."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            positions = self.positions()
            if None not in positions and len({p for one in positions for p in one}) == 1:
                return positions[0][0]
            time.sleep(0.02)
        return None

    def close(self):
        for node in self.nodes:
            if node.is_running():
                node.kill()
            if node.port:
                node.port.close()

    def remove(self):
        for node in self.nodes:
            shutil.rmtree(node.directory, ignore_errors=True)
