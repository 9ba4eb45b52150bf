#!/usr/bin/env python3
"""Compare speeds by short turns, and write Markdown.

A shared processor may be twice as fast in one second as in the next. Runs of several seconds, one
after the other, then measure the machine rather than the contenders. So all contenders are started
and prepared, each with a qlessd-benchmark of its own. All of them are stopped (SIGSTOP) except the
one whose turn it is, for a tenth of a second.

A ratio is the median of the ratios of all rounds. In a round each contender has one turn, and the
order is reversed from round to round. Two more columns have the ratio in the third of the rounds in
which the machine was slowest, and in the third in which it was quickest.

The table goes to standard output, with a line that says how it was made. Progress goes to standard
error.
"""

import argparse
import contextlib
import json
import math
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from results import section
from servers import (BEFORE, EVALSHA, NATIVE, REFERENCE, SET, Server, add_arguments,
                     check_arguments, client_options, head, number, print_how, program_in, quartiles,
                     row, say)

# Seconds at the start of a turn that do not count, until the clients are running again.
LEAD_SECONDS = 0.03
CLIENT_SECONDS = 86400
PREPARE_SECONDS = 300
# Seconds for the disk to finish what the preparations wrote, so that no turn pays for it.
SETTLE_SECONDS = 2


INTRODUCTION = """\
Contenders take turns of {turn:g} s. A ratio is the median over all rounds; the last two columns are
the third of the rounds in which the machine was slowest, and quickest. There are 64 connections
with 16 requests under way, unless the name says otherwise. Client and server share one machine, and
the payload has 100 bytes.
"""


def load(workload, connections=64, pipeline=16, backlog=None):
    options = ["--workload", workload, "--connections", str(connections)]
    options += ["--pipeline", str(pipeline)]
    return options + (["--backlog", backlog] if backlog else [])


def by_evalsha(workload):
    return [(workload, NATIVE, [], load(workload)),
            (f"{workload} by EVALSHA", EVALSHA, [], load(workload))]


def by_builds(workload, backlog=None, directives=(), clients=(64, 16)):
    alone = "" if clients == (64, 16) else ", {} × {}".format(*clients)
    options = load(workload, *clients, backlog=backlog)
    return [(f"{workload} before{alone}", BEFORE, directives, options),
            (workload + alone, NATIVE, directives, options)]


def beside_set(connections, pipeline, *workloads):
    clients = "" if (connections, pipeline) == (64, 16) else f", {connections} × {pipeline}"
    return [(f"SET of Redis{clients}", SET, [], load("set", connections, pipeline)),
            *((name + clients, NATIVE, [], load(name, connections, pipeline))
              for name in workloads)]


NO_LOG = ("lifecycle, no log", NATIVE, ["--appendonly", "no"], load("lifecycle"))
EVERYSEC = ("lifecycle, everysec", NATIVE, [], load("lifecycle"))
ALWAYS = ("lifecycle, always", NATIVE, ["--appendfsync", "always"], load("lifecycle"))
DEEP_1K = ("lifecycle on 1k waiting", NATIVE, [], load("deep", backlog="1k"))
DEEP_1M = ("lifecycle on 1M waiting", NATIVE, [], load("deep", backlog="1M"))
DEEP_10M = ("lifecycle on 10M waiting", NATIVE, [], load("deep", backlog="10M"))
SCHEDULED_1M = ("lifecycle on 1M scheduled", NATIVE, [], load("scheduled", backlog="1M"))

# Comparisons by name. A contender is a title, a kind of server, directives for it, and options of
# qlessd-benchmark. The first contender is the one that the others are compared with.
COMPARISONS = {
    "log": [NO_LOG, EVERYSEC],
    "always": [EVERYSEC, ALWAYS],
    "deep": [DEEP_1K, DEEP_1M],
    "scheduled": [DEEP_1K, SCHEDULED_1M],
    "large": [DEEP_1K, DEEP_10M],
    "evalsha": by_evalsha("lifecycle"),
    "evalsha-heartbeat": by_evalsha("heartbeat"),
    "evalsha-get": by_evalsha("get"),
    "set": beside_set(64, 16, "lifecycle", "heartbeat", "get", "put"),
    "set-16x1": beside_set(16, 1, "lifecycle"),
    "set-1x1": beside_set(1, 1, "lifecycle"),
    "reference": [("qless.lua on Redis", REFERENCE, [], load("lifecycle")),
                  ("lifecycle", NATIVE, [], load("lifecycle")),
                  ("lifecycle by EVALSHA", EVALSHA, [], load("lifecycle"))],
    "build": by_builds("lifecycle"),
    "build-always": by_builds("lifecycle", directives=["--appendfsync", "always"]),
    "build-always-1x1": by_builds("lifecycle", directives=["--appendfsync", "always"],
                                  clients=(1, 1)),
    "build-heartbeat": by_builds("heartbeat"),
    "build-get": by_builds("get"),
    "build-tags": by_builds("tags"),
    "build-deep": by_builds("deep", "1M"),
}


class Contender:
    """A server and its client, which are stopped between their turns."""

    def __init__(self, stack, args, title, kind, directives, options):
        self.title = title
        self.kind = kind
        self.speeds = []
        server = stack.enter_context(Server(args, kind, directives))
        self.progress = stack.enter_context(tempfile.TemporaryFile())
        self.client = stack.enter_context(subprocess.Popen(
            [*args.pin_client, args.benchmark, "--port", str(server.port), "--progress",
             "--duration", str(CLIENT_SECONDS), *client_options(args, kind, options)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.progress))
        stack.callback(self.client.kill)
        self.pids = [server.process.pid, self.client.pid]
        self.socket = stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))
        self.replies = stack.enter_context(self.socket.makefile("rb"))

    def prepare(self):
        until = time.monotonic() + PREPARE_SECONDS
        text = ""
        while "commands/s" not in text:
            if self.client.poll() is not None or time.monotonic() > until:
                sys.exit(f"{self.title}: the client does not start: {text}")
            time.sleep(0.1)
            text = os.pread(self.progress.fileno(), 1 << 20, 0).decode(errors="replace")
        self.send(signal.SIGSTOP)

    def send(self, signal_number):
        for pid in self.pids:
            os.kill(pid, signal_number)

    def count(self):
        """The commands so far, and the time. Commands inside a script do not count."""
        name = "total_commands_processed:"
        section = "stats"
        if self.kind in (EVALSHA, REFERENCE):
            name, section = "cmdstat_evalsha:calls=", "commandstats"
        self.socket.sendall(f"INFO {section}\r\n".encode())
        text = self.replies.read(int(self.replies.readline()[1:]) + 2).decode()
        now = time.monotonic()
        if self.client.poll() is not None or name not in text:
            sys.exit(f"{self.title}: the client has exited")
        digits = text.partition(name)[2]
        return int(digits.partition("\r")[0].partition(",")[0]), now

    def take_turn(self, seconds):
        self.send(signal.SIGCONT)
        time.sleep(LEAD_SECONDS)
        before, begin = self.count()
        time.sleep(seconds)
        after, end = self.count()
        self.send(signal.SIGSTOP)
        self.speeds.append((after - before) / (end - begin))


def compare(args, name):
    """Run the turns, and print a row for each contender but the first."""
    say(name)
    with contextlib.ExitStack() as stack:
        contenders = []
        for contender in COMPARISONS[name]:
            contenders.append(Contender(stack, args, *contender))
            contenders[-1].prepare()
        os.sync()
        time.sleep(SETTLE_SECONDS)
        for i in range(args.rounds):
            for contender in contenders if i % 2 == 0 else reversed(contenders):
                contender.take_turn(args.turn)
    first, *others = contenders
    for other in others:
        # Sorted by the speed of the machine.
        pairs = sorted(zip(first.speeds, other.speeds), key=math.prod)
        ratios = [b / a for a, b in pairs]
        third = len(ratios) // 3
        row([other.title, number(statistics.median(other.speeds)), first.title, quartiles(ratios),
             number(statistics.median(ratios[:third])), number(statistics.median(ratios[-third:]))])
    args.raw.append({"comparison": name, "speeds": {c.title: c.speeds for c in contenders}})


def what_is_missing(args, name):
    """The option that a comparison needs and that is missing, or None."""
    kinds = [kind for _, kind, _, _ in COMPARISONS[name]]
    for kind, option in (SET, "redis"), (REFERENCE, "script"), (BEFORE, "before"):
        if kind in kinds and not getattr(args, option):
            return f"--{option}"
    return None


def names_of(args):
    """The comparisons to run: those of --only, those with --before, or all that are possible."""
    if args.only:
        return args.only.split(",")
    names = [name for name in COMPARISONS if not what_is_missing(args, name)]
    if args.before:
        names = [name for name in names if COMPARISONS[name][0][1] == BEFORE]
    return names


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=100, help="at least 6")
    parser.add_argument("--turn", type=float, default=0.08, metavar="SECONDS",
                        help="of each turn that count; 0.03 come before")
    parser.add_argument("--only", metavar="NAMES",
                        help=f"comma-separated comparisons: {', '.join(COMPARISONS)}")
    parser.add_argument("--before", metavar="DIR",
                        help="another build, to compare this one with")
    add_arguments(parser)
    args = check_arguments(parser)
    if args.rounds < 6:
        parser.error("--rounds must be 6 or more")
    if args.before:
        args.before = program_in(args.before)
        if not os.access(args.before, os.X_OK):
            parser.error(f"{args.before} does not exist")
    args.names = names_of(args)
    for name in args.names:
        if name not in COMPARISONS:
            parser.error(f"unknown comparison {name}; known are {', '.join(COMPARISONS)}")
        missing = what_is_missing(args, name)
        if missing:
            parser.error(f"{name} needs {missing}")
    return args


def main():
    args = parse()
    # Stopped processes must end with this one.
    for ending in signal.SIGTERM, signal.SIGHUP:
        signal.signal(ending, lambda *_: sys.exit("ended by a signal"))
    words = ["tests/bench/turns.py", "--rounds", str(args.rounds)]
    words += ["--only", args.only] if args.only else []
    words += ["--before", "build-before"] if args.before else []
    with section("Ratios", args.results):
        print_how(args, words)
        print(INTRODUCTION.format(turn=args.turn))
        head("contender", "commands/s", "compared with", "ratio (quartiles)", "machine slow",
             "machine quick")
        for name in args.names:
            compare(args, name)
    if args.raw_file:
        with open(args.raw_file, "w", encoding="utf-8") as file:
            json.dump(args.raw, file, indent=1)


main()
