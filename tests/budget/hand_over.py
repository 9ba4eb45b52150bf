#!/usr/bin/env python3
"""usage: hand_over.py QLESSD VALGRIND

Count the instructions of a put whose job goes to a client that waits, with few waiting clients and
with many. A server that walks over the clients that wait, or over all connections, takes several
times as many instructions for it, and fails.

Callgrind counts, so neither the processor nor other processes matter. It writes a dump after each
call of cmd_echo(): the client asks for an echo before and after the hand-overs that count. Work that
the server does once a second counts, too, so the cheapest of some batches is the measure.
"""

import os
import re
import resource
import selectors
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "soak"))
from resp import encode  # noqa: E402

FEW, MANY = 10, 2000  # waiting clients
BATCHES, BATCH_JOBS = 40, 10
WARM_UP_JOBS = 50
TOLERANCE = 0.10
PATIENCE = 250  # seconds for each reply
DESCRIPTORS = 100  # besides those of waiting clients


class Peer:
    """A connection over the Unix socket, whose replies are read whole."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.socket.settimeout(PATIENCE)

    def send(self, *words):
        self.socket.sendall(encode(words))

    def read_until(self, end):
        data = b""
        while not data.endswith(end):
            part = self.socket.recv(65536)
            if not part:
                sys.exit(f"the server closed the connection after {data!r}")
            data += part
        return data

    def ask(self, end, *words):
        self.send(*words)
        return self.read_until(end)


def start(qlessd, valgrind, directory):
    path = os.path.join(directory, "socket")
    process = subprocess.Popen(
        [valgrind, "--quiet", "--tool=callgrind", "--dump-after=cmd_echo",
         f"--callgrind-out-file={directory}/dump", qlessd, "--port", "0", "--unixsocket", path,
         "--dir", directory, "--maxclients", str(MANY + DESCRIPTORS)],
        stdout=subprocess.DEVNULL)
    until = time.monotonic() + PATIENCE
    while True:
        try:
            peer = Peer(path)
            break
        except OSError:
            if process.poll() is not None or time.monotonic() > until:
                sys.exit("the server does not start")
            time.sleep(0.01)
    while b"PONG" not in peer.ask(b"\r\n", "ping"):
        time.sleep(0.01)
    return process, peer, path


def dumped(directory):
    """The instructions since the dump before."""
    total = 0
    for name in os.listdir(directory):
        if not re.fullmatch(r"dump\.\d+", name):
            continue
        path = os.path.join(directory, name)
        with open(path, encoding="ascii", errors="replace") as file:
            total += int(re.search(r"^(?:totals|summary): (\d+)", file.read(), re.MULTILINE).group(1))
        os.remove(path)
    return total


def wait(client):
    """Begin to wait for a job. The server replies to the ping in the turn in which it reads both."""
    client.socket.sendall(encode(("ping",)) + encode(("bpop", "0", "w", "1", "q")))
    client.read_until(b"+PONG\r\n")


class HandOvers:
    """Puts jobs. Each goes to one of the waiting clients, which then waits again."""

    def __init__(self, asker, clients):
        self.asker = asker
        self.jobs = 0
        self.selector = selectors.DefaultSelector()
        for client in clients:
            wait(client)
            self.selector.register(client.socket, selectors.EVENT_READ, client)

    def run(self, count):
        for _ in range(count):
            self.jobs += 1
            self.asker.ask(b"\r\n", "put", "w", "q", f"j{self.jobs:08}", "k", "{}", "0")
            ((key, _),) = self.selector.select(PATIENCE)
            key.data.read_until(b"]\r\n")
            wait(key.data)


def count(qlessd, valgrind, waiting):
    """The instructions of a hand-over with this number of waiting clients."""
    with tempfile.TemporaryDirectory() as directory:
        process, asker, path = start(qlessd, valgrind, directory)
        try:
            hand_overs = HandOvers(asker, [Peer(path) for _ in range(waiting)])
            hand_overs.run(WARM_UP_JOBS)
            batches = []
            for _ in range(BATCHES):
                asker.ask(b"x\r\n", "echo", "x")
                dumped(directory)
                hand_overs.run(BATCH_JOBS)
                asker.ask(b"x\r\n", "echo", "x")
                batches.append(dumped(directory) / BATCH_JOBS)
            return min(batches)
        finally:
            process.kill()
            process.wait()


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    many = min(MANY, hard - DESCRIPTORS)
    cost_few, cost_many = (count(*sys.argv[1:], waiting) for waiting in (FEW, many))
    is_good = cost_many < cost_few * (1 + TOLERANCE)
    print("1..1")
    print(f"{'ok' if is_good else 'not ok'} 1 - a put costs the same with many waiting clients: "
          f"{cost_few:.0f} instructions with {FEW}, {cost_many:.0f} with {many}")
    sys.exit(not is_good)


main()
