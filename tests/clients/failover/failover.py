#!/usr/bin/python3
"""usage: failover.py [--rounds N] COMMAND [ARGUMENT]...

Runs a client with three servers of a group, and takes the leader from it N times: by SIGKILL and by
SIGSTOP in turns. The client must go on each time.

The environment of the client has the addresses of the servers in QLESSD_NODES, separated by commas.
It puts jobs for as long as it runs, and writes a line for each attempt: "ok" and the jid once the
server has acknowledged the job, or "error" and the text of an error that its users expect. It ends
if there is any other error. In the end, every acknowledged job must be there.

Writes the Test Anything Protocol, with a line of figures.
"""

import argparse
import os
import signal
import subprocess
import threading
import time
import traceback

from group import Connection, Group, wait_until

# Acknowledged jobs between two fail-overs.
JOBS = 20


class Client:
    """The process of a client, and what it has written."""

    def __init__(self, command, nodes):
        environment = {**os.environ, "QLESSD_NODES": ",".join(node.address for node in nodes)}
        self.process = subprocess.Popen(command, env=environment, text=True,
                                        stdout=subprocess.PIPE)
        self.jobs = []
        self.errors = []
        self.thread = threading.Thread(target=self.listen)
        self.thread.start()

    def listen(self):
        for line in self.process.stdout:
            kind, _, text = line.rstrip("\n").partition(" ")
            if kind in ("ok", "error"):
                (self.jobs if kind == "ok" else self.errors).append(text)

    def wait_for_jobs(self, count):
        """Waits until `count` more jobs are acknowledged."""
        goal = len(self.jobs) + count

        def is_reached():
            assert self.process.poll() is None, f"the client has ended: {self.errors[-3:]}"
            return len(self.jobs) >= goal
        wait_until(is_reached, f"the client goes on; its latest errors: {self.errors[-3:]}")

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.thread.join()
        self.process.stdout.close()


def take_leader(group, client, freezes):
    """Returns the seconds without acknowledged jobs since there was a new leader."""
    old = group.leader()
    if freezes:
        old.signal(signal.SIGSTOP)
    else:
        old.kill()
    wait_until(lambda: next((node for node in group.nodes if node is not old and node.leads()),
                            None), "another node leads")
    begin = time.monotonic()
    if freezes:
        old.signal(signal.SIGCONT)
    client.wait_for_jobs(1)
    seconds = time.monotonic() - begin
    client.wait_for_jobs(JOBS)
    if not freezes:
        old.start()
    group.agree()
    return seconds


def check_jobs(group, jobs):
    connection = Connection(group.leader().port)
    for jid in jobs:
        assert connection.ask("GET", jid) is not None, f"{jid} was acknowledged, and is lost"
    connection.close()


def run(arguments):
    """Yields the names of the cases that have passed."""
    with Group() as group:
        client = Client(arguments.command, group.nodes)
        try:
            client.wait_for_jobs(JOBS)
            seconds = [take_leader(group, client, number % 2 == 1)
                       for number in range(arguments.rounds)]
        finally:
            client.stop()
        yield "the client outlives the loss of its leader"
        check_jobs(group, client.jobs)
        yield "no acknowledged job is lost"
    seconds.sort()
    print(f"# {arguments.rounds} fail-overs, {len(client.jobs)} jobs, {len(client.errors)} "
          f"errors {sorted(set(client.errors))}; after a new leader, the first job within "
          f"{1000 * seconds[len(seconds) // 2]:.0f} ms (median), {1000 * seconds[-1]:.0f} ms "
          "(longest)")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    print("1..2", flush=True)
    number = 0
    try:
        for number, name in enumerate(run(parser.parse_args()), 1):
            print(f"ok {number} - {name}", flush=True)
    except Exception:
        traceback.print_exc()
        print(f"not ok {number + 1} - see above", flush=True)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
