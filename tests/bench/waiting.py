#!/usr/bin/env python3
"""Measure a qlessd for which many workers wait, and write Markdown.

    due      how late jobs reach workers that wait, when they fall due at random instants
    idle     how often the process wakes while nothing happens, and what a queue costs that a
             waiting connection names
    cost     instructions of a job that is put, handed over and completed, by callgrind, for one
             waiting worker and for many

The table of `cost` does not depend on the load of the machine, and `idle` hardly does.
"""

import argparse
import contextlib
import os
import random
import re
import resource
import selectors
import signal
import socket
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from results import ROOT, section
from servers import NATIVE, Server, add_arguments, check_arguments, head, number, print_how, row, say

sys.path.insert(0, os.path.join(ROOT, "tests", "soak"))
from resp import Peer, encode  # noqa: E402

CONNECTIONS = 10000
QUEUES = 100
# Jobs and waiting workers of `due`, and the seconds over which the jobs fall due.
DUE_JOBS, DUE_WORKERS, DUE_SECONDS = 10000, 100, 10
# Seconds from the first put until the first job is due: all are put by then.
DUE_LEAD_SECONDS = 3
IDLE_SECONDS = 10
NAMED_CONNECTIONS, NAMED_QUEUES = 500, 200
COST_JOBS, IDLE_COST_SECONDS = 1000, 5
VALGRIND_SECONDS = 120


def control(server):
    return Peer(server.port, timeout=VALGRIND_SECONDS)


def info(peer, name):
    peer.send("info", "everything")
    text = peer.receive()
    text = text.decode() if isinstance(text, bytes) else text
    return int(re.search(rf"^{name}:(\d+)", text, re.MULTILINE).group(1))


def connect(server, stack):
    s = stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return s


def await_waiting(peer, count):
    until = time.monotonic() + VALGRIND_SECONDS
    while info(peer, "blocked_clients") != count:
        if time.monotonic() > until:
            sys.exit(f"{count} clients do not wait")
        time.sleep(0.05)


def wait_in(stack, server, peer, count, queues_of):
    """Connections that wait. `queues_of` has the names for the number of a connection."""
    before = info(peer, "blocked_clients")
    sockets = []
    for i in range(count):
        sockets.append(connect(server, stack))
        names = queues_of(i)
        sockets[-1].sendall(encode(("bpop", "0", f"worker-{i}", str(len(names)), *names)))
    await_waiting(peer, before + count)
    return sockets


# ---- due ----

def put_due(peer):
    """Put the jobs. Returns when each falls due, in seconds of the wall clock."""
    start = time.time() + DUE_LEAD_SECONDS
    due = {}
    for i in range(DUE_JOBS):
        now, jid = time.time(), f"job-{i}"
        due[jid] = start + random.uniform(0, DUE_SECONDS)
        peer.send_raw(encode(("qless", "put", f"{now:.6f}", "putter", "q", jid, "k", "{}",
                              f"{due[jid] - now:.6f}")))
        peer.receive()
    if time.time() > start:
        sys.exit("the jobs could not be put in time")
    return due


def measure_due(args):
    """Print the lateness of the jobs."""
    say("due times")
    pattern = re.compile(rb'"jid":"(job-\d+)"')
    late, taken = [], 0
    with Server(args, NATIVE) as server, contextlib.ExitStack() as stack:
        peer = control(server)
        selector = selectors.DefaultSelector()
        workers = wait_in(stack, server, peer, DUE_WORKERS, lambda _: ["q"])
        for i, worker in enumerate(workers):
            selector.register(worker, selectors.EVENT_READ, f"worker-{i}")
        due = put_due(peer)
        while taken < DUE_JOBS:
            ready = selector.select(DUE_LEAD_SECONDS + DUE_SECONDS)
            if not ready:
                sys.exit(f"only {taken} of {DUE_JOBS} jobs reached a worker")
            for key, _ in ready:
                reply = key.fileobj.recv(65536)
                now = time.time()
                for jid in pattern.findall(reply):
                    jid = jid.decode()
                    late.append((now - due[jid]) * 1e3)
                    taken += 1
                    key.fileobj.sendall(
                        encode(("complete", jid, key.data, "q", "{}"))
                        + encode(("bpop", "0", key.data, "1", "q")))
    if min(late) < 0:
        sys.exit(f"a job was handed out {-min(late):.3f} ms before it was due")
    late.sort()
    print(f"{DUE_JOBS:,} jobs fall due at random instants within {DUE_SECONDS} s, and "
          f"{DUE_WORKERS} workers wait.\nMilliseconds from the due time until the worker reads the "
          "job:\n")
    head("", "median", "p99", "p99.9", "longest")
    row(["lateness, ms", *(number(x) for x in (statistics.median(late),
                                               late[int(len(late) * 0.99)],
                                               late[int(len(late) * 0.999)], late[-1]))])
    args.raw.append({"lateness_ms": late})
    print()


# ---- idle ----

def switches(server):
    """Context switches of all threads so far."""
    total = 0
    for task in os.listdir(f"/proc/{server.process.pid}/task"):
        with open(f"/proc/{server.process.pid}/task/{task}/status", encoding="ascii") as file:
            total += int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", file.read(),
                                   re.MULTILINE).group(1))
    return total


def count_wake_ups(server):
    before = switches(server)
    time.sleep(IDLE_SECONDS)
    return (switches(server) - before) / IDLE_SECONDS


def measure_place(args):
    """Bytes for each queue that a waiting connection names."""
    names = [f"queue-{i:07}" for i in range(NAMED_QUEUES + 1)]
    used = []
    for count in 1, NAMED_QUEUES + 1:
        with Server(args, NATIVE) as server, contextlib.ExitStack() as stack:
            peer = control(server)
            wait_in(stack, server, peer, NAMED_CONNECTIONS, lambda _, n=count: names[:n])
            used.append(info(peer, "used_memory"))
    return (used[1] - used[0]) / (NAMED_CONNECTIONS * NAMED_QUEUES)


def measure_idle(args):
    say("idle")
    with Server(args, NATIVE, ["--maxclients", str(CONNECTIONS + 100)]) as server, \
            contextlib.ExitStack() as stack:
        peer = control(server)
        alone = count_wake_ups(server)
        wait_in(stack, server, peer, CONNECTIONS, lambda i: [f"q{i % QUEUES}"])
        many = count_wake_ups(server)
    print(f"{CONNECTIONS:,} connections wait for {QUEUES} queues, and nothing happens:\n")
    head("", "nobody waits", f"{CONNECTIONS:,} wait")
    row(["wake-ups a second", number(alone), number(many)])
    print(f"\nA waiting connection takes {measure_place(args):.0f} bytes for each queue that it names, "
          f"if the name has {len('queue-0000000')} bytes.\n")


# ---- cost ----

def hand_over(peer, queue, jobs, waiting):
    """Put jobs, which workers complete. The first worker of `waiting` is the next in line."""
    for i in range(jobs):
        index = i % len(waiting)
        worker, name = waiting[index]
        jid = f"{queue}-{time.monotonic_ns()}"
        peer.send("put", "putter", queue, jid, "k", "{}", "0")
        peer.receive()
        reply = b""
        while not reply.endswith(b"]\r\n"):
            reply += worker.recv(65536)
        worker.sendall(encode(("complete", jid, name, queue, "{}"))
                       + encode(("bpop", "0", name, "1", queue)))
        reply = b""
        while not reply.endswith(b"complete\r\n"):
            reply += worker.recv(65536)


def callgrind(server, option):
    subprocess.run(["callgrind_control", option, str(server.process.pid)], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def dumped(directory):
    """The instructions of the only dump."""
    (name,) = (name for name in os.listdir(directory) if re.search(r"\.\d+$", name))
    with open(os.path.join(directory, name), encoding="ascii", errors="replace") as file:
        text = file.read()
    os.remove(os.path.join(directory, name))
    return int(re.search(r"^(?:totals|summary): (\d+)", text, re.MULTILINE).group(1))


def count_while(server, directory, run):
    """Instructions while a function runs, and the seconds that it took."""
    callgrind(server, "-z")
    begin = time.monotonic()
    run()
    seconds = time.monotonic() - begin
    callgrind(server, "-d")
    return dumped(directory), seconds


def count_instructions(args, directory, count, queues):
    """Instructions of a job, with `count` workers that wait for `queues` queues. Those that the
    server also needs while nothing happens do not count."""
    say(f"cost, {count} waiting")
    with Server(args, NATIVE, ["--maxclients", str(CONNECTIONS + 100)]) as server, \
            contextlib.ExitStack() as stack:
        peer = control(server)
        sockets = wait_in(stack, server, peer, count, lambda i: [f"q{i % queues}"])
        waiting = [(s, f"worker-{i}") for i, s in enumerate(sockets) if i % queues == 0]
        hand_over(peer, "q0", len(waiting), waiting)
        idle, idle_seconds = count_while(server, directory, lambda: time.sleep(IDLE_COST_SECONDS))
        busy, seconds = count_while(server, directory,
                                    lambda: hand_over(peer, "q0", COST_JOBS, waiting))
        return (busy - idle / idle_seconds * seconds) / COST_JOBS


def measure_cost(args):
    with tempfile.TemporaryDirectory() as directory:
        args.pin_server = ["valgrind", "--quiet", "--tool=callgrind",
                           f"--callgrind-out-file={directory}/dump"]
        alone = count_instructions(args, directory, 1, 1)
        many = count_instructions(args, directory, CONNECTIONS, QUEUES)
    args.pin_server = []
    print("Instructions that the server runs to put, hand over and complete a job, counted by "
          "callgrind:\n")
    head("", "1 worker waits", f"{CONNECTIONS:,} wait for {QUEUES} queues", "ratio")
    row(["instructions", number(alone), number(many), f"{many / alone:.2f}"])
    print()


PARTS = {"due": measure_due, "idle": measure_idle, "cost": measure_cost}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", metavar="NAMES", help=f"comma-separated: {', '.join(PARTS)}")
    parser.add_argument("--real-time", action="store_true",
                        help="client and servers go before all other processes of the machine")
    add_arguments(parser)
    args = check_arguments(parser)
    args.redis = args.beanstalkd = None
    names = args.only.split(",") if args.only else list(PARTS)
    for name in names:
        if name not in PARTS:
            parser.error(f"unknown part {name}; known are {', '.join(PARTS)}")
    for ending in signal.SIGTERM, signal.SIGHUP:
        signal.signal(ending, lambda *_: sys.exit("ended by a signal"))
    if "cost" in names and not shutil.which("callgrind_control"):
        parser.error("cost needs valgrind")
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    words = ["tests/bench/waiting.py", *(["--only", args.only] if args.only else [])]
    if args.real_time:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
        words.append("--real-time")
    with section("Many waiting workers", args.results):
        print_how(args, words)
        for name in names:
            PARTS[name](args)


main()
