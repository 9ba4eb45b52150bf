#!/usr/bin/python3
"""Thousands of jobs through an endpoint that misbehaves at random, while the server is killed.

The endpoint keeps a ledger: it decides the fate of each job by its jid, and misbehaves before that. In
the end each job is complete with the result that the ledger has, or failed in the group that it has.
"""

import os
import random
import threading
import time

from endpoint import Close, Endpoint, Reset, response
from harness import equal, run, wait_until

JOBS = int(os.environ.get("QLESSD_PUSH_JOBS", "10000"))
KILLS = 4
CONCURRENCY = 64
RETRIES = 100000
BATCH = 500


class Ledger:
    """Answers requests, and remembers the last word about each job."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lock = threading.Lock()
        self.settled = {}  # the outcomes that may stand, by jid
        self.seen = 0

    def fate(self, jid):
        """The group in which the job fails, or None."""
        return {0: "http-404", 1: "http-302", 2: "http-410"}.get(random.Random(jid).randrange(40))

    def answer(self, request):
        job = request.json
        jid = job["id"]
        with self.lock:
            self.seen += 1
            kind = self.random.randrange(100)
            pause = self.random.random() / 20
        if kind < 4:
            raise Reset
        if kind < 8:
            raise Close
        if kind < 10:
            time.sleep(1.2)  # longer than the timeout of the endpoint
            raise Close
        if kind < 15:
            return response(self.random.choice((500, 502, 503, 408, 425)), b"later")
        if kind < 17:
            return response(429, headers=["Retry-After: 0"])
        if kind < 19:
            return [b"\x00\xffgarbage\r\n\r\n" * 10]
        if kind < 21:
            return [b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort"]
        if kind < 23:
            return [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"]
        if kind < 40:
            time.sleep(pause)
        group = self.fate(jid)
        with self.lock:
            if group is None:
                result = f"{jid} at {job['attempt']}"
                self.settled.setdefault(jid, set()).add(result)
                return response(200, result.encode())
            self.settled.setdefault(jid, set()).add(group)
        return response(int(group[5:]), b"never", ["Location: http://127.0.0.1:1/"])


def each_job_is_finished_once_or_failed_with_the_right_group(server):
    ledger = Ledger(seed=11)
    endpoint = Endpoint(ledger.answer)
    server.start("--appendfsync", "always", "--push-circuit-failures", "1000000")
    server.call("CONFIG.SET", "heartbeat", 2)
    server.call("CONFIG.SET", "grace-period", 0)
    server.call("CONFIG.SET", "jobs-history-count", JOBS * 2)
    server.set("e", endpoint.url(), "CONCURRENCY", CONCURRENCY, "TIMEOUT", 1)
    options = ("retries", RETRIES, "backoff", "fixed", 0.01, 0.01)
    for first in range(0, JOBS, BATCH):
        pipe = server.db.pipeline(transaction=False)
        for i in range(first, min(first + BATCH, JOBS)):
            pipe.execute_command("PUT", "w", "q", f"j{i}", "Send", '{"n":%d}' % i, 0, *options)
        pipe.execute()
    for kill in range(1, KILLS + 1):
        wait_until(lambda: ledger.seen >= JOBS * kill // (KILLS + 1))
        server.kill()
        server.start()
    left = set(range(JOBS))

    def settle():
        for i in list(left):
            if server.state(f"j{i}") not in ("complete", "failed"):
                return False
            left.discard(i)
        return True

    wait_until(settle)
    for i in range(JOBS):
        job = server.job(f"j{i}")
        group = ledger.fate(f"j{i}")
        equal("complete" if group is None else "failed", job["state"])
        last = job["result"] if group is None else job["failure"]["group"]
        equal((f"j{i}", True), (f"j{i}", last in ledger.settled[f"j{i}"]))
        # A worker of the server ended it exactly once.
        ends = [event for event in job["history"] if event["what"] in ("done", "failed")]
        equal((f"j{i}", 1), (f"j{i}", len(ends)))
    equal(0, server.status("e")["running"])
    server.call("CONSISTENCYCHECK")


run([each_job_is_finished_once_or_failed_with_the_right_group])
