#!/usr/bin/python3
"""usage: workers.py [--rounds N] COMMAND [ARGUMENT]...

Runs a worker that knows the addresses of three servers of a group, and takes the leader from it N
times: by SIGKILL and by SIGSTOP in turns. The worker must complete all jobs without a new start.

QLESSD_URL in the environment of the worker has the addresses. It takes jobs from the queue q.
QLESS, the command line, puts the jobs and counts them, also by the addresses of all servers.

Writes the Test Anything Protocol.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import traceback

from group import Group, wait_until

# Jobs between two fail-overs.
JOBS = 5


# Exit status of qless if the connection is lost. A leader may cease to lead at any time.
LOST = 3


def qless(url, *words):
    """Returns the output. A command whose connection is lost runs again."""
    def attempt():
        result = subprocess.run([os.environ["QLESS"], "--uri", url, *words], capture_output=True,
                                text=True, check=False)
        assert result.returncode in (0, LOST), f"qless {words}: {result.stderr}"
        return result if result.returncode == 0 else None
    return wait_until(attempt, f"qless {words} has a server").stdout


def put_jobs(url, first):
    for number in range(first, first + JOBS):
        qless(url, "put", "q", "Work", "{}", "--jid", f"j{number}")


def are_complete(url, count):
    return all(json.loads(qless(url, "show", f"j{number}", "--json"))["state"] == "complete"
               for number in range(count))


def wait_for_worker(worker, url, count):
    def is_done():
        assert worker.poll() is None, "the worker has ended"
        return are_complete(url, count)
    wait_until(is_done, f"the worker has completed {count} jobs")


def take_leader(group, freezes):
    old, _ = group.agree()
    old.signal(signal.SIGSTOP if freezes else signal.SIGKILL)
    wait_until(lambda: any(node.leads() for node in group.nodes if node is not old),
               "another node leads")
    if freezes:
        old.signal(signal.SIGCONT)
    else:
        old.process.wait()
        old.start()


def run(arguments):
    with Group() as group:
        url = "redis://" + ",".join(node.address for node in group.nodes)
        worker = subprocess.Popen(arguments.command, env={**os.environ, "QLESSD_URL": url},
                                  stdout=subprocess.DEVNULL)
        try:
            put_jobs(url, 0)
            wait_for_worker(worker, url, JOBS)
            for number in range(1, arguments.rounds + 1):
                take_leader(group, number % 2 == 0)
                put_jobs(url, number * JOBS)
                wait_for_worker(worker, url, (number + 1) * JOBS)
        finally:
            worker.kill()
            worker.wait()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    print("1..1", flush=True)
    try:
        run(parser.parse_args())
    except Exception:
        traceback.print_exc()
        print("not ok 1 - the worker completes all jobs")
        return 1
    print("ok 1 - the worker completes all jobs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
