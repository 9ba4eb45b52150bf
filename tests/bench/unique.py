#!/usr/bin/env python3
"""Compare the cost of puts with a unique key with that of plain puts, and write Markdown.

The cost is the processor time of the server, of the user and of the system, as the scheduler of the
kernel counts it. All contenders are servers of their own that take turns: in a turn, a client puts
some jobs over a connection, each with another jid and other data. The order of the turns is reversed
from round to round. A ratio is the median of the ratios of all rounds, with its quartiles.

The table goes to standard output, with a line that says how it was made.
"""

import argparse
import contextlib
import glob
import json
import os
import signal
import socket
import statistics
import sys

from results import section
from servers import (NATIVE, Server, add_arguments, check_arguments, head, number, print_how,
                     quartiles, row)

PIPELINES = (1, 16)
PLAIN, ARGS, KEY = "plain", "`unique args`", "`unique` and a key"
# Rounds before those that count.
WARM_UP_ROUNDS = 3

INTRODUCTION = """\
Processor time of the server for a put, user and system, over a connection that has 1 or 16 requests
under way. All jobs differ, and have a jid of 32 bytes and data of about 60 bytes. A turn has {turn:,}
puts; there are {rounds} rounds. A ratio is the median over all rounds, with its quartiles. The load of
the machine was {load:.0f} at the beginning.
"""


def request(*words):
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)


class Contender:
    """A server that one connection puts jobs to."""

    def __init__(self, stack, args, title, pipeline):
        server = stack.enter_context(Server(args, NATIVE))
        self.title = title
        self.pipeline = pipeline
        self.pid = server.process.pid
        self.jobs = 0
        self.costs = []
        self.socket = stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.replies = stack.enter_context(self.socket.makefile("rb"))

    def make_put(self):
        self.jobs += 1
        jid = b"%032x" % (self.jobs * 0x9E3779B97F4A7C15 % (1 << 128))
        data = b'{"to":"someone@example.com","subject":"hello","attempt":%d}' % (10**6 + self.jobs)
        options = {PLAIN: (), ARGS: (b"unique", b"args"), KEY: (b"unique", jid)}[self.title]
        return jid, request(b"PUT", b"client", b"queue", jid, b"Klass", data, b"0", *options)

    def processor_ns(self):
        """The time of all threads of the server."""
        total = 0
        for path in glob.glob(f"/proc/{self.pid}/task/*/schedstat"):
            with open(path, encoding="ascii") as file:
                total += int(file.read().split()[0])
        return total

    def take_turn(self, puts):
        batches = []
        for _ in range(puts // self.pipeline):
            made = [self.make_put() for _ in range(self.pipeline)]
            batches.append((b"".join(text for _, text in made),
                            b"".join(b"$32\r\n%s\r\n" % jid for jid, _ in made)))
        before = self.processor_ns()
        for requests, replies in batches:
            self.socket.sendall(requests)
            if self.replies.read(len(replies)) != replies:
                sys.exit(f"{self.title}: a put was not answered with its jid")
        self.costs.append((self.processor_ns() - before) / (len(batches) * self.pipeline))


def compare(args, pipeline):
    with contextlib.ExitStack() as stack:
        contenders = [Contender(stack, args, title, pipeline) for title in (PLAIN, ARGS, KEY)]
        for i in range(WARM_UP_ROUNDS + args.rounds):
            for contender in contenders if i % 2 == 0 else reversed(contenders):
                contender.take_turn(args.turn)
    plain, *others = contenders
    for c in contenders:
        del c.costs[:WARM_UP_ROUNDS]
    for other in others:
        ratios = [b / a for a, b in zip(plain.costs, other.costs)]
        row([other.title, str(pipeline), number(statistics.median(plain.costs) / 1000),
             number(statistics.median(other.costs) / 1000), quartiles(ratios)])
    args.raw.append({"pipeline": pipeline, "ns": {c.title: c.costs for c in contenders}})


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=60, help="at least 6; 60 unless given")
    parser.add_argument("--turn", type=int, default=1600, metavar="PUTS",
                        help="a multiple of 16; 1600 unless given")
    add_arguments(parser)
    args = check_arguments(parser)
    if args.rounds < 6:
        parser.error("--rounds must be 6 or more")
    if args.turn < 16 or args.turn % 16 != 0:
        parser.error("--turn must be a multiple of 16")
    return args


def main():
    args = parse()
    # The servers must end with this program.
    for ending in signal.SIGTERM, signal.SIGHUP:
        signal.signal(ending, lambda *_: sys.exit("ended by a signal"))
    words = ["tests/bench/unique.py", "--rounds", str(args.rounds), "--turn", str(args.turn)]
    with section("Unique keys", args.results):
        print_how(args, words)
        print(INTRODUCTION.format(turn=args.turn, rounds=args.rounds, load=os.getloadavg()[0]))
        head("put with", "requests under way", "plain, µs", "with the key, µs", "ratio (quartiles)")
        for pipeline in PIPELINES:
            compare(args, pipeline)
    if args.raw_file:
        with open(args.raw_file, "w", encoding="utf-8") as file:
            json.dump(args.raw, file, indent=1)


main()
