#!/usr/bin/env python3
"""Compare how jobs reach workers that wait, with Redis and beanstalkd, and write Markdown.

qlessd-benchmark runs `wait` and `handoff` on new servers: BPOP of qlessd, BRPOP on a list of Redis,
and reserve on beanstalkd. The contenders take turns, and the order is reversed from round to round.
A ratio is the median of the ratios of all rounds, because a shared processor may be twice as fast in
one second as in the next.

The load of the half loaded servers is half of what the slower of qlessd and Redis completes in the
same run. Their turns are shorter, and there are more of them. The p99 of a turn shows the longest
interruption by another process, and most short turns have none. No turn is left out. beanstalkd takes
part if it is installed. Progress goes to standard error.

Use --pin on a machine with two processors. Otherwise the latency of an idle server depends on where
the scheduler puts it and its client.
"""

import argparse
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys

from results import section
from servers import (BEANSTALKD, BEFORE, LISTS, NATIVE, Server, add_arguments, check_arguments,
                     client_options, head, number, print_how, program_in, quartiles, row, say)

TITLES = {NATIVE: "qlessd", LISTS: "Redis", BEANSTALKD: "beanstalkd", BEFORE: "qlessd before"}
WARMUP_SECONDS = 0.03
TURN_MIN_SECONDS = 0.05
HALF_LOAD_DIVISOR = 5  # turns at half load are shorter by this, and there are more of them

# Directives and options of each server for a durability.
LOGS = {
    "everysec": {NATIVE: [], BEFORE: [], LISTS: [], BEANSTALKD: ["-b", "{dir}", "-f", "1000"]},
    "none": {NATIVE: ["--appendonly", "no"], BEFORE: ["--appendonly", "no"],
             LISTS: ["--appendonly", "no"], BEANSTALKD: []},
}

WAIT = ["--workload", "wait"]
# Loads by name, with the options of qlessd-benchmark.
LOADS = {
    "64 connections, 1 put each": WAIT,
    "1 connection, 64 puts under way": [*WAIT, "--connections", "1", "--pipeline", "64"],
}
HANDOFF = ["--workload", "handoff"]

INTRODUCTION = """\
The servers take turns of {turn:g} s in {rounds} rounds. A ratio divides the figure of qlessd by that
of the server in the row. It is the median over all rounds, with quartiles. Servers and clients share
one machine, whose load average was {load:.1f} before. The payload has 100 bytes.

A worker of qlessd sends COMPLETE and the next BPOP together. A worker of beanstalkd sends delete and
reserve together. A worker on a list of Redis has nothing to complete.

Two sections below explain the figures: "the system calls of a hand-over" and "what delays hand-overs".
"""

THROUGHPUT = """\
Jobs that 64 waiting workers complete, and the processor time of the server for a job:
"""

LATENCY = """\
Time from a put until a waiting worker reads the job. At half load there are {rounds} rounds with
turns of {turn:g} s. The p99 of a server is the median over its turns, with quartiles. The wait for a
processor is how long the server or its client could run while other processes did, as the kernel
counts it. The quiet rounds are the half of the rounds in which these waits were shortest.
"""


class Contender:
    def __init__(self, stack, args, kind, log):
        self.args, self.kind, self.title = args, kind, TITLES[kind]
        self.server = stack.enter_context(Server(args, kind, LOGS[log][kind]))
        self.results = []

    def take_turn(self, options, seconds):
        command = [*self.args.pin_client, self.args.benchmark, "--port", str(self.server.port),
                   "--json", "--warmup", str(WARMUP_SECONDS), "--duration", str(seconds)]
        done = subprocess.run(command + client_options(self.args, self.kind, options),
                              stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{self.title}: qlessd-benchmark failed: {done.stdout}")
        result = json.loads(done.stdout)
        if result["jobs"] == 0:
            sys.exit(f"{self.title}: no worker got a job within {seconds:g} s: give a longer --turn")
        self.results.append(result)

    def figures(self, read):
        return [read(result) for result in self.results]

    def median(self, read):
        return statistics.median(self.figures(read))


def jobs_per_second(result):
    return result["jobs_per_second"]


def server_us(result):
    """Microseconds of the server's processor time for a job."""
    return result["server_cpu"] * 1e6 / result["jobs_per_second"]


def median_us(result):
    return result["latency"]["hand-over"]["p50_us"]


def p99_us(result):
    return result["latency"]["hand-over"]["p99_us"]


def run_delay_ms(result):
    """Milliseconds in each second for which the server or the client waited for a processor."""
    return (result["server_run_delay"] + result["client_run_delay"]) * 1e3


def ratios(ours, theirs, read):
    """Ours divided by theirs, round by round."""
    return [a / b for a, b in zip(ours.figures(read), theirs.figures(read))]


def ratio(ours, theirs, read):
    return quartiles(ratios(ours, theirs, read))


def quiet_ratio(ours, theirs, read):
    """The ratio in the half of the rounds in which the two waited least for a processor."""
    delays = [a + b for a, b in zip(ours.figures(run_delay_ms), theirs.figures(run_delay_ms))]
    by_delay = sorted(zip(delays, ratios(ours, theirs, read)))
    return quartiles([value for _, value in by_delay[: len(by_delay) // 2]])


def spread(values):
    """The median with quartiles, as text."""
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{number(middle)} ({number(low)} to {number(high)})"


def kinds_of(args, *, with_beanstalkd):
    kinds = [(NATIVE, True), (BEFORE, args.before), (LISTS, args.redis),
             (BEANSTALKD, args.beanstalkd and with_beanstalkd)]
    return [kind for kind, needed in kinds if needed]


def take_turns(args, log, kinds, options, divisor=1):
    """Turns that are shorter by a divisor, and rounds that are more."""
    with contextlib.ExitStack() as stack:
        contenders = [Contender(stack, args, kind, log) for kind in kinds]
        for i in range(args.rounds * divisor):
            for contender in contenders if i % 2 == 0 else reversed(contenders):
                contender.take_turn(options, args.turn / divisor)
    args.raw.append({"log": log, "options": options,
                     "results": {c.title: c.results for c in contenders}})
    return contenders


def compare_throughput(args):
    """Print a table. Returns half of what the slower of qlessd and Redis did, by log."""
    half = {}
    head("load", "log", "server", "jobs/s", "us/job", "ratio of jobs/s", "ratio of us/job")
    for log in args.logs:
        for name, options in LOADS.items():
            say(f"throughput, {name}, log {log}")
            contenders = take_turns(args, log, kinds_of(args, with_beanstalkd=True), options)
            ours = contenders[0]
            for c in contenders:
                compared = ["", ""]
                if c is not ours:
                    compared = [ratio(ours, c, jobs_per_second), ratio(ours, c, server_us)]
                row([name, log, c.title, number(c.median(jobs_per_second)),
                     number(c.median(server_us)), *compared])
            if options is WAIT:
                half[log] = int(min(c.median(jobs_per_second) for c in contenders
                                    if c.kind in (NATIVE, LISTS)) / 2)
    return half


def compare_latency(args, half):
    head("load", "log", "server", "median, us", "p99, us", "wait for a processor, ms/s",
         "ratio of medians", "ratio of p99", "ratio of p99, quiet rounds")
    for log in args.logs:
        loads = [("1,000 puts/s, 1 worker", HANDOFF, 1)]
        if log in half:
            loads.append((f"{half[log]:,} puts/s, 64 workers",
                          [*HANDOFF, "--workers", "64", "--rate", str(half[log])],
                          HALF_LOAD_DIVISOR))
        for name, options, divisor in loads:
            say(f"latency, {name}, log {log}")
            contenders = take_turns(args, log, kinds_of(args, with_beanstalkd=False), options,
                                    divisor)
            ours = contenders[0]
            for c in contenders:
                compared = ["", "", ""]
                if c is not ours:
                    compared = [ratio(ours, c, median_us), ratio(ours, c, p99_us),
                                quiet_ratio(ours, c, p99_us)]
                row([name, log, c.title, number(c.median(median_us)), spread(c.figures(p99_us)),
                     number(statistics.mean(c.figures(run_delay_ms))), *compared])


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=30, help="at least 4")
    parser.add_argument("--turn", type=float, default=0.5, metavar="SECONDS",
                        help=f"at least {TURN_MIN_SECONDS:g}; 0.5 unless given")
    parser.add_argument("--log", choices=LOGS, action="append", dest="logs",
                        help="how durable the servers are; all unless given")
    parser.add_argument("--rate", type=int, metavar="N",
                        help="half load in puts a second, without measuring throughput")
    parser.add_argument("--before", metavar="DIR", help="another build, to compare this one with")
    parser.add_argument("--real-time", action="store_true",
                        help="client and servers go before all other processes of the machine")
    add_arguments(parser)
    args = check_arguments(parser)
    args.before = args.before and program_in(args.before)
    args.logs = args.logs or list(LOGS)
    if args.rounds < 4:
        parser.error("--rounds must be at least 4")
    if args.turn < TURN_MIN_SECONDS:
        parser.error(f"--turn must be at least {TURN_MIN_SECONDS:g} seconds")
    return args


def main():
    args = parse()
    for ending in signal.SIGTERM, signal.SIGHUP:
        signal.signal(ending, lambda *_: sys.exit("ended by a signal"))
    words = ["tests/bench/handoff.py", "--rounds", str(args.rounds), "--turn", f"{args.turn:g}"]
    if args.real_time:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
        words.append("--real-time")
    words += ["--before", "build-before"] if args.before else []
    with section("Hand-overs to waiting workers", args.results):
        print_how(args, words)
        print(INTRODUCTION.format(turn=args.turn, rounds=args.rounds, load=os.getloadavg()[0]))
        half = {log: args.rate for log in args.logs}
        if not args.rate:
            print(THROUGHPUT)
            half = compare_throughput(args)
            print()
        print(LATENCY.format(rounds=args.rounds * HALF_LOAD_DIVISOR,
                             turn=args.turn / HALF_LOAD_DIVISOR))
        compare_latency(args, half)
    if args.raw_file:
        with open(args.raw_file, "w", encoding="utf-8") as file:
            json.dump(args.raw, file, indent=1)


main()
