#!/usr/bin/env python3
"""Measure how many jobs the server posts to an endpoint that answers at once, and write Markdown.

The endpoint is a process of its own. Jobs are put while the endpoint is paused. The time from the end
of the pause to the last job counts, and the processor time of the server in it.

The table goes to standard output, with a line that says how it was made.
"""

import argparse
import asyncio
import glob
import multiprocessing
import os
import signal
import socket
import statistics
import sys
import time

from results import section
from servers import NATIVE, Server, add_arguments, check_arguments, head, number, print_how, row

CONNECTIONS = (1, 64)
BATCH = 500
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

INTRODUCTION = """\
The server posts {jobs:,} jobs with data of about 60 bytes to an endpoint that answers at once. The
connections are kept alive. The processor time is that of the server, user and system, and includes the
hand-out and the end of the job. Each line is the median of {rounds} rounds. The endpoint is a program
in Python on the same machine, whose load was {load:.0f} at the beginning.
"""


class Answerer(asyncio.Protocol):
    """Answers each request when its body has arrived."""

    def connection_made(self, transport):
        self.transport = transport
        self.input = b""

    def data_received(self, data):
        self.input += data
        while True:
            end = self.input.find(b"\r\n\r\n")
            if end < 0:
                return
            length = self.input[:end].lower().split(b"content-length: ")[1].split(b"\r\n")[0]
            size = end + 4 + int(length)
            if len(self.input) < size:
                return
            self.input = self.input[size:]
            self.transport.write(ANSWER)


def answer(listener):
    async def serve():
        server = await asyncio.get_running_loop().create_server(Answerer, sock=listener)
        await server.serve_forever()

    asyncio.run(serve())


class Client:
    """A connection to the server."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.replies = self.socket.makefile("rb")

    @staticmethod
    def request(*words):
        words = [str(word).encode() for word in words]
        return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)

    def reply(self):
        line = self.replies.readline()
        if line[:1] == b"-":
            sys.exit(line.decode())
        if line[:1] != b"$" or line == b"$-1\r\n":
            return line
        return self.replies.read(int(line[1:]) + 2)

    def call(self, *words):
        self.socket.sendall(self.request(*words))
        return self.reply()

    def put(self, first, count):
        data = '{"to":"someone@example.com","subject":"hello","attempt":%d}'
        self.socket.sendall(b"".join(
            self.request("PUT", "client", "queue", f"{i:032x}", "Klass", data % (10**6 + i), 0)
            for i in range(first, first + count)))
        for _ in range(count):
            self.reply()

    def completed(self):
        for line in self.call("INFO", "stats").decode().splitlines():
            if line.startswith("push_completed:"):
                return int(line.partition(":")[2])
        sys.exit("INFO lacks push_completed")


def processor_ns(pid):
    total = 0
    for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        with open(path, encoding="ascii") as file:
            total += int(file.read().split()[0])
    return total


def measure(args, connections, url):
    """Return the jobs a second, and the microseconds of processor time for each, of all rounds."""
    rates, costs = [], []
    with Server(args, NATIVE) as server:
        client = Client(server.port)
        client.call("ENDPOINT.SET", "bench", "URL", url, "QUEUES", 1, "queue", "CONCURRENCY",
                    connections)
        for i in range(args.rounds):
            client.call("ENDPOINT.PAUSE", "bench")
            for first in range(0, args.jobs, BATCH):
                client.put(i * args.jobs + first, min(BATCH, args.jobs - first))
            cost, begin = processor_ns(server.process.pid), time.monotonic()
            client.call("ENDPOINT.UNPAUSE", "bench")
            while client.completed() < (i + 1) * args.jobs:
                time.sleep(0.01)
            rates.append(args.jobs / (time.monotonic() - begin))
            costs.append((processor_ns(server.process.pid) - cost) / args.jobs / 1000)
    args.raw.append({"connections": connections, "rates": rates, "us": costs})
    return rates, costs


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5, help="5 unless given")
    parser.add_argument("--jobs", type=int, default=10000, help="of a round; 10000 unless given")
    add_arguments(parser)
    return check_arguments(parser)


def main():
    args = parse()
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    endpoint = multiprocessing.Process(target=answer, args=(listener,), daemon=True)
    endpoint.start()
    # The server and the endpoint must end with this program.
    for ending in signal.SIGTERM, signal.SIGHUP:
        signal.signal(ending, lambda *_: sys.exit("ended by a signal"))
    words = ["tests/bench/push.py", "--rounds", str(args.rounds), "--jobs", str(args.jobs)]
    with section("Push", args.results):
        print_how(args, words)
        print(INTRODUCTION.format(jobs=args.jobs, rounds=args.rounds, load=os.getloadavg()[0]))
        head("connections", "jobs a second", "processor time for a job, µs")
        for connections in CONNECTIONS:
            rates, costs = measure(args, connections, url)
            row([str(connections), number(statistics.median(rates)), number(statistics.median(costs))])
    endpoint.terminate()


main()
