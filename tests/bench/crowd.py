#!/usr/bin/env python3
"""Measure qlessd and Redis with `appendfsync always` on a crowded machine.

Processes that never sleep run beside the servers. The contenders take turns. In each turn, 16
connections send one change after the other. The client runs with real-time priority if the system
allows that, so that the gaps between replies are those of the server.

Then each contender makes a snapshot of a full server on the crowded machine.
"""

import argparse
import contextlib
import json
import os
import select
import signal
import socket
import statistics
import subprocess
import sys
import time

from results import section
from servers import (BEFORE, NATIVE, SET, Server, add_arguments, check_arguments, head, number,
                     print_how, program_in, row, say)

CONNECTIONS = 16
PAYLOAD = "x" * 100
TITLES = {NATIVE: "qlessd, put", SET: "Redis, SET", BEFORE: "qlessd before, put"}
# Seconds after which a snapshot is taken for starved.
SNAPSHOT_SECONDS = 60
LOADED_AT_ONCE = 1000

INTRODUCTION = """\
{busy} processes that never sleep run beside the servers, unless the machine is quiet. There are
{connections} connections with one change under way each. The gap is the longest time without any
reply in a turn of {seconds:g} seconds; the table has the median over {rounds} turns, and the longest.
Client and server share one machine, whose load average was {load:.1f} before. {client}
"""

CLIENT = {True: "The client has real-time priority, so the gaps are those of the server.",
          False: "The client competes with the busy processes, too, which makes gaps longer."}


@contextlib.contextmanager
def crowd(size):
    """Processes that use all processor time that they get."""
    busy = []
    try:
        for _ in range(size):
            busy.append(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
        yield
    finally:
        for process in busy:
            process.kill()
        for process in busy:
            process.wait()


@contextlib.contextmanager
def real_time():
    """This process goes before all ordinary ones. Yields whether that is so."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except PermissionError:
        yield False
        return
    try:
        yield True
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def encode(*words):
    parts = [f"*{len(words)}\r\n", *(f"${len(word)}\r\n{word}\r\n" for word in words)]
    return "".join(parts).encode()


class Contender:
    def __init__(self, stack, args, kind, *directives):
        self.kind, self.title, self.next_key = kind, TITLES[kind], 0
        self.rates, self.gaps = [], []
        self.server = stack.enter_context(Server(args, kind, directives))
        self.control = self.connect()

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.server.port))

    def ask(self, *words):
        """The first part of a reply that arrives at once."""
        self.control.sendall(encode(*words))
        return self.control.recv(1 << 20).decode()

    def change(self):
        self.next_key += 1
        if self.kind == SET:
            return encode("set", f"key:{self.next_key}", PAYLOAD)
        return encode("put", "w", "q", f"job:{self.next_key}", "k", f'{{"x":"{PAYLOAD}"}}', "0")

    def load(self, count):
        for _ in range(0, count, LOADED_AT_ONCE):
            self.control.sendall(b"".join(self.change() for _ in range(LOADED_AT_ONCE)))
            replies = 0
            while replies < LOADED_AT_ONCE:
                got = self.control.recv(1 << 20)
                # The reply of qlessd is the jid, in two lines.
                replies += got.count(b"+OK" if self.kind == SET else b"$")

    def take_turn(self, seconds):
        sockets = [self.connect() for _ in range(CONNECTIONS)]
        poll = select.epoll()
        by_fd = {s.fileno(): s for s in sockets}
        for s in sockets:
            poll.register(s, select.EPOLLIN)
            s.sendall(self.change())
        begin = last = time.monotonic()
        count, gap = 0, 0.0
        while last - begin < seconds:
            ready = poll.poll(seconds)
            now = time.monotonic()
            gap, last = max(gap, now - last), now
            for fd, _ in ready:
                by_fd[fd].recv(4096)
                by_fd[fd].sendall(self.change())
                count += 1
        for s in sockets:
            s.close()
        self.rates.append(count / (last - begin))
        self.gaps.append(gap)

    def figure(self, name):
        return int(self.ask("info", "persistence").partition(f"{name}:")[2].partition("\r")[0])

    def make_snapshot(self):
        """How many seconds it takes, or None if it is not over in time."""
        begin = time.monotonic()
        self.ask("bgrewriteaof")
        time.sleep(0.02)
        while self.figure("aof_rewrite_in_progress") != 0:
            if time.monotonic() - begin > SNAPSHOT_SECONDS:
                return None
            time.sleep(0.02)
        return time.monotonic() - begin


def kinds_of(args):
    return [kind for kind, needed in ((BEFORE, args.before), (NATIVE, True), (SET, args.redis))
            if needed]


def take_turns(args, busy):
    with contextlib.ExitStack() as stack:
        contenders = [Contender(stack, args, kind, "--appendfsync", "always")
                      for kind in kinds_of(args)]
        with crowd(busy), real_time():
            for i in range(args.rounds):
                for contender in contenders if i % 2 == 0 else reversed(contenders):
                    contender.take_turn(args.seconds)
    for c in contenders:
        row([c.title, str(busy), number(statistics.median(c.rates)),
             number(statistics.median(c.gaps) * 1e3), number(max(c.gaps) * 1e3)])
        args.raw.append({"contender": c.title, "busy": busy, "rates": c.rates, "gaps": c.gaps})


def ways_of(kind):
    """How a contender can make snapshots: a name, and directives for it."""
    if kind == SET:
        return [("a fork", [])]
    unlimited = ["--rewrite-rate-limit", "0", "--fork-max-memory"]
    return [("the log", [*unlimited, "0"]), ("a fork", [*unlimited, "1024gb"])]


def make_snapshots(args, busy):
    ways = [(kind, *way) for kind in kinds_of(args) for way in ways_of(kind)]
    for kind, how, directives in ways:
        with contextlib.ExitStack() as stack:
            c = Contender(stack, args, kind, *directives)
            c.load(args.jobs)
            with crowd(busy), real_time():
                time.sleep(1)
                seconds = c.make_snapshot()
        row([c.title.partition(",")[0], how, str(busy),
             f"{seconds:.2f}" if seconds is not None else f"over {SNAPSHOT_SECONDS}"])
        args.raw.append({"snapshot": c.title, "how": how, "busy": busy, "seconds": seconds})


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--busy", type=int, default=20, help="processes that never sleep")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2, help="of each turn")
    parser.add_argument("--jobs", type=int, default=100000, help="in a snapshot")
    parser.add_argument("--only", choices=["turns", "snapshots"])
    parser.add_argument("--before", metavar="DIR", help="another build, to compare this one with")
    add_arguments(parser)
    args = check_arguments(parser)
    args.before = args.before and program_in(args.before)
    return args


def main():
    args = parse()
    for ending in signal.SIGTERM, signal.SIGHUP:
        signal.signal(ending, lambda *_: sys.exit("ended by a signal"))
    words = ["tests/bench/crowd.py", "--rounds", str(args.rounds)]
    words += ["--before", "build-before"] if args.before else []
    with real_time() as allowed:
        client = CLIENT[allowed]
    with section("A crowded machine", args.results):
        print_how(args, words)
        print(INTRODUCTION.format(busy=args.busy, connections=CONNECTIONS, seconds=args.seconds,
                                  rounds=args.rounds, client=client,
                                  load=os.getloadavg()[0]))
        if args.only != "snapshots":
            head("contender, `appendfsync always`", "busy processes", "changes/s", "gap, ms",
                 "longest gap, ms")
            for busy in 0, args.busy:
                say(f"turns beside {busy} busy processes")
                take_turns(args, busy)
            print()
        if args.only != "turns":
            print(f"Snapshots of {args.jobs:,} jobs or keys:\n")
            head("contender", "snapshot from", "busy processes", "seconds")
            for busy in 0, args.busy:
                say(f"snapshots beside {busy} busy processes")
                make_snapshots(args, busy)
    if args.raw_file:
        with open(args.raw_file, "w", encoding="utf-8") as file:
            json.dump(args.raw, file, indent=1)


main()
