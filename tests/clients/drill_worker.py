#!/usr/bin/python3
"""Check that an example of a worker does what every worker should.

    drill_worker.py COMMAND [ARGUMENT]...       the command that starts the worker

It waits for jobs of the queues `urgent` and `greetings`, greets the `name` in the data of a job, and
takes as many `seconds` for it. with_qlessd runs this, and starts the server again
after its end.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time

import redis

PATIENCE = 60  # seconds
# Seconds for which the worker works on a job that it loses, in the last of some attempts.
LONGEST = 8

checks = []


def check(function):
    """The name of the function is the name of the case."""
    checks.append(function)
    return function


def wait_until(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


class Drill:
    """A worker, and the server that it works for."""

    def __init__(self, command):
        self.server = redis.Redis(host="127.0.0.1", port=int(os.environ["QLESSD_PORT"]),
                                  decode_responses=True)
        self.call = self.server.execute_command
        self.call("FLUSHALL")
        self.errors = tempfile.TemporaryFile("w+")
        self.worker = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.errors, text=True)
        self.await_waiting()

    def await_waiting(self):
        wait_until(lambda: self.server.info("clients")["blocked_clients"] == 1)

    def put(self, jid, queue="greetings", **data):
        self.call("PUT", "drill", queue, jid, "Greet", json.dumps(data), 0)

    def job(self, jid):
        return json.loads(self.call("GET", jid))

    def await_state(self, jid, state):
        wait_until(lambda: self.job(jid)["state"] == state)

    def restart(self, number):
        """End the server, which is then started again."""
        before = self.server.info("server")
        os.kill(before["process_id"], number)

        def is_new():
            try:
                return self.server.info("server")["run_id"] != before["run_id"]
            except redis.ConnectionError:  # so is LOADING
                return False
        wait_until(is_new)

    def stop(self):
        """The lines that the worker has written, after a graceful end."""
        self.worker.send_signal(signal.SIGTERM)
        output, _ = self.worker.communicate(timeout=PATIENCE)
        assert self.worker.returncode == 0, self.worker.returncode
        return output.splitlines()

    def complaints(self):
        """The lines that the worker has written to its standard error."""
        self.errors.seek(0)
        return self.errors.read().splitlines()

    def end(self):
        self.worker.kill()
        self.worker.communicate()
        print(*self.complaints(), sep="\n", file=sys.stderr)
        self.errors.close()


@check
def jobs_are_done_as_they_come(drill):
    drill.put("j1", name="ann")
    drill.await_state("j1", "complete")
    drill.put("j2")
    drill.await_state("j2", "failed")
    assert drill.job("j2")["failure"]["group"] == "bad-data"
    drill.put("j3", queue="urgent", name="bob")
    drill.await_state("j3", "complete")
    assert drill.stop() == ["hello ann", "hello bob"]


@check
def the_lock_of_a_long_job_is_kept(drill):
    drill.call("CONFIG.SET", "heartbeat", 1)
    drill.call("CONFIG.SET", "grace-period", 0)
    drill.put("j1", name="ann", seconds=2)
    drill.await_state("j1", "running")
    while drill.job("j1")["state"] == "running":
        assert drill.call("POP", "greetings", "thief", 1) == "[]"
        time.sleep(0.01)
    assert drill.job("j1")["state"] == "complete"
    assert drill.stop() == ["hello ann"]


@check
def a_lost_job_is_left_to_its_new_owner(drill):
    seconds = 1
    while not takes_away(drill, f"j{seconds}", seconds):
        seconds *= 2
        assert seconds <= LONGEST, "the worker is faster each time"
    lines = drill.stop()
    # A worker that had finished before it was told reports the refusal.
    told = [line for line in lines + drill.complaints() if f"j{seconds}" in line]
    assert any("NOTOWNER " in line for line in told), (lines, told)
    assert lines[-1] == "hello bob"


def takes_away(drill, jid, seconds):
    """Take a job away from the worker. Returns false if the worker was faster."""
    drill.put(jid, name="ann", seconds=seconds)
    drill.await_state(jid, "running")
    with drill.server.pipeline() as transaction:  # a worker that notices may pop the job again
        transaction.execute_command("TIMEOUT", jid)
        transaction.execute_command("POP", "greetings", "thief", 1)
        popped = transaction.execute(raise_on_error=False)[1]
    drill.put(f"after-{jid}", name="bob")
    drill.await_state(f"after-{jid}", "complete")
    if popped == "[]":
        return False
    assert json.loads(popped)[0]["jid"] == jid
    assert drill.job(jid)["worker"] == "thief"
    return True


@check
def a_worker_that_waits_survives_the_death_of_the_server(drill):
    drill.restart(signal.SIGKILL)
    drill.await_waiting()
    drill.put("j1", name="ann")
    drill.await_state("j1", "complete")
    drill.restart(signal.SIGTERM)
    drill.await_waiting()
    assert drill.stop() == ["hello ann"]


@check
def a_worker_that_works_survives_the_death_of_the_server(drill):
    drill.put("j1", name="ann", seconds=0.5)
    drill.await_state("j1", "running")
    drill.restart(signal.SIGKILL)
    drill.await_state("j1", "complete")
    popped = [event for event in drill.job("j1")["history"] if event["what"] == "popped"]
    assert len(popped) == 1, popped
    assert drill.stop() == ["hello ann"]


@check
def a_worker_that_is_asked_to_stop_finishes_its_job_and_takes_no_other(drill):
    drill.put("j1", name="ann", seconds=0.5)
    drill.await_state("j1", "running")
    drill.put("j2", name="bob")
    assert drill.stop() == ["hello ann"]
    assert drill.job("j1")["state"] == "complete"
    assert drill.job("j2")["state"] == "waiting"


def main():
    failed = 0
    print(f"1..{len(checks)}")
    for number, function in enumerate(checks, 1):
        drill, outcome = Drill(sys.argv[1:]), "ok"
        try:
            function(drill)
        except Exception as error:  # whatever it is, the next case may do better
            outcome = "not ok"
            failed += 1
            print(f"{function.__name__}: {error!r}", file=sys.stderr)
        drill.end()
        print(f"{outcome} {number} - {function.__name__.replace('_', ' ')}", flush=True)
    return failed != 0


if __name__ == "__main__":
    sys.exit(main() if sys.argv[1:] else __doc__)
