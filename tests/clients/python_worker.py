"""The worker library for Python, clients/python/qlessd_worker.py, with the real daemon.

QLESSD_TEST_PROTOCOL=3 runs all cases in RESP3, which needs redis-py 5 or later.
"""

import contextlib
import json
import logging
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback

import redis

import qlessd_worker
from qlessd_worker import Client, JobLost, Retry, Worker

PORT = int(os.environ["QLESSD_PORT"])
TLS_PORT = int(os.environ["QLESSD_TLS_PORT"])
CERTIFICATES = pathlib.Path(os.environ["QLESSD_TLS_DIR"])
SCRIPT = pathlib.Path(__file__).with_name("qless.lua").read_text(encoding="utf-8")
README = pathlib.Path(__file__).parents[2] / "README.md"
PROTOCOL = os.environ.get("QLESSD_TEST_PROTOCOL", "")
OPTIONS = f"?protocol={PROTOCOL}" if PROTOCOL else ""
URL = f"redis://127.0.0.1:{PORT}/{OPTIONS}"
PATIENCE = 60  # seconds until a test that waits has failed

checks = []


def check(function):
    """The name of the function is the name of the case."""
    checks.append(function)
    return function


def connect(**options):
    return redis.Redis(host="127.0.0.1", port=PORT, decode_responses=True, **options)


def wait_until(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.005)


def put(client, queue, jid, klass="Work", data=None, **options):
    words = [word for pair in options.items() for word in pair]
    client.execute_command("PUT", "test", queue, jid, klass, json.dumps(data or {}), 0, *words)


def get(client, jid):
    return json.loads(client.execute_command("GET", jid) or "{}")


def state(client, jid):
    return get(client, jid).get("state")


def waiting(client, count=1):
    """Whether this number of connections waits for jobs."""
    flags = [other["flags"] for other in client.client_list() if other["cmd"] == "bpop"]
    return sum("b" in each for each in flags) == count


def subscribers(client):
    return [other for other in client.client_list() if "P" in other["flags"]]


@contextlib.contextmanager
def running(worker):
    """Run a worker in a thread, and stop it at the end."""
    failures = []

    def run():
        try:
            worker.run()
        except BaseException as error:  # main() shall see it
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        wait_until(lambda: worker._runner is not None or failures)
        yield thread
    finally:
        worker.stop()
        thread.join(PATIENCE)
        assert not thread.is_alive(), "the worker does not stop"
        if failures:
            raise failures[0]


def make_worker(*queues, **options):
    return Worker(URL, queues or ["q"], **options)


def restart(client, number):
    """End the server by a signal, after which the harness starts it again."""
    before = client.info("server")
    os.kill(before["process_id"], number)
    while True:
        try:
            if client.info("server")["run_id"] != before["run_id"]:
                return
        except redis.ConnectionError:
            time.sleep(0.01)


@contextlib.contextmanager
def impatient():
    """A library that gives up soon on a server or a handler that does not answer."""
    names = ("REPLY_SECONDS", "UNWIND_SECONDS")
    before = [getattr(qlessd_worker, name) for name in names]
    for name in names:
        setattr(qlessd_worker, name, 0.1)
    try:
        yield
    finally:
        for name, value in zip(names, before):
            setattr(qlessd_worker, name, value)


@contextlib.contextmanager
def warnings():
    """The warnings and errors that the library logs."""
    texts, handler = [], logging.Handler(logging.WARNING)
    handler.emit = lambda record: texts.append(record.getMessage())
    level = qlessd_worker.log.level
    qlessd_worker.log.setLevel(logging.WARNING)
    qlessd_worker.log.addHandler(handler)
    try:
        yield texts
    finally:
        qlessd_worker.log.removeHandler(handler)
        qlessd_worker.log.setLevel(level)


class Script:
    """A worker in a process of its own, which prints lines."""

    HEAD = "import logging, os, sys, time\nfrom qlessd_worker import *\nlogging.basicConfig()\n"

    def __init__(self, text, head=HEAD):
        self.directory = tempfile.TemporaryDirectory()
        path = pathlib.Path(self.directory.name) / "worker.py"
        path.write_text(head + text, encoding="utf-8")
        self.process = subprocess.Popen(
            [sys.executable, "-u", str(path)], stdout=subprocess.PIPE, encoding="utf-8",
            env={**os.environ, "QLESSD_URL": URL})
        self.pid = self.process.pid

    def read(self):
        """The next line."""
        return self.process.stdout.readline().strip()

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self):
        self.rest = self.process.communicate(timeout=PATIENCE)[0].splitlines()
        return self.process.returncode

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()
        self.directory.cleanup()


class Proxy:
    """Stands between a worker and the server, and swallows a reply together with its connection."""

    def __init__(self):
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self.listener.getsockname()[1]}/{OPTIONS}"
        self.victims = []  # (name of a command, text of its reply), each once
        self.links = []  # (socket of the worker, its last request, is it severed)
        self.swallowed = []  # replies to severed connections

    def open(self):
        self.listener.listen()
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client = self.listener.accept()[0]
                server = socket.create_connection(("127.0.0.1", PORT))
                threading.Thread(target=self.serve, args=[client, server], daemon=True).start()

    def serve(self, client, server):
        last, is_severed = [b""], threading.Event()
        self.links.append((client, last, is_severed))

        def pass_on():
            with contextlib.suppress(OSError):
                while request := client.recv(1 << 20):
                    last[0] = request
                    server.sendall(request)
                if not is_severed.is_set():
                    server.shutdown(socket.SHUT_WR)

        threading.Thread(target=pass_on, daemon=True).start()
        with contextlib.suppress(OSError), client, server:
            while reply := server.recv(1 << 20):
                if is_severed.is_set():
                    self.swallowed.append(reply)
                    continue
                for victim in self.victims:
                    if victim[0].encode() in last[0] and victim[1].encode() in reply:
                        self.victims.remove(victim)
                        client.shutdown(socket.SHUT_RDWR)
                        return
                client.sendall(reply)

    def sever(self):
        """Break the connections that wait for jobs. The server does not notice."""
        for client, last, is_severed in self.links:
            if b"BPOP" in last[0]:
                is_severed.set()
                client.shutdown(socket.SHUT_RDWR)

    def close(self):
        self.listener.close()


# ---- handlers and outcomes ----

@check
def a_handler_that_returns_completes_its_job(client):
    worker, seen = make_worker(), []

    @worker.on("Send")
    def send(job):
        seen.append((job.jid, job.klass, job.queue, job.data, job.tags, job.priority, job.attempt))
        return "ignored"

    jid = worker.put("q", "Send", {"to": "ann"}, tags=["a"], priority=3)
    with running(worker):
        wait_until(lambda: state(client, jid) == "complete")
    assert seen == [(jid, "Send", "q", {"to": "ann"}, ["a"], 3, 1)], seen
    assert json.loads(get(client, jid)["data"]) == {"to": "ann"}


@check
def each_class_has_its_handler_and_others_have_the_default(client):
    worker, seen = make_worker(), []
    worker.on("A", "B")(lambda job: seen.append(("named", job.klass)))
    worker.on()(lambda job: seen.append(("default", job.klass)))
    for klass in ("A", "B", "C"):
        put(client, "q", klass, klass)
    with running(worker):
        wait_until(lambda: state(client, "C") == "complete")
    assert seen == [("named", "A"), ("named", "B"), ("default", "C")], seen


@check
def a_job_without_a_handler_fails(client):
    worker = make_worker()
    put(client, "q", "j", "Unknown")
    with running(worker):
        wait_until(lambda: state(client, "j") == "failed")
    failure = get(client, "j")["failure"]
    assert failure["group"] == "no-handler" and "Unknown" in failure["message"], failure


@check
def an_exception_fails_the_job_with_its_class_and_traceback(client):
    worker = make_worker()

    @worker.on("Work")
    def divide(job):
        return 1 / job.data["by"]

    put(client, "q", "j", data={"by": 0})
    with running(worker):
        wait_until(lambda: state(client, "j") == "failed")
    failure = get(client, "j")["failure"]
    assert failure["group"] == "ZeroDivisionError", failure
    lines = failure["message"].splitlines()
    assert lines[0] == "Traceback (most recent call last):", lines
    assert "in divide" in lines[1] and lines[-1] == "ZeroDivisionError: division by zero", lines
    assert "qlessd_worker.py" not in failure["message"]


@check
def the_message_of_a_failure_is_bounded_and_keeps_its_end(client):
    worker = make_worker()

    @worker.on("Work")
    def work(job):
        raise ValueError("x" * 100000 + "the end")

    put(client, "q", "j")
    with running(worker):
        wait_until(lambda: state(client, "j") == "failed")
    message = get(client, "j")["failure"]["message"]
    assert len(message) < 20000 and message.rstrip().endswith("the end")


@check
def sys_exit_in_a_handler_fails_the_job_and_not_the_worker(client):
    worker = make_worker()
    worker.on("Exit")(lambda job: sys.exit(3))
    worker.on("Work")(lambda job: None)
    put(client, "q", "exit", "Exit")
    put(client, "q", "work")
    with running(worker):
        wait_until(lambda: state(client, "work") == "complete")
    assert get(client, "exit")["failure"]["group"] == "SystemExit"


@check
def a_handler_returns_its_job_with_a_delay(client):
    worker = make_worker()
    worker.on("Call")(lambda job: job.retry(1000))

    @worker.on("Raise")
    def work(job):
        raise Retry(1000)

    put(client, "q", "call", "Call")
    put(client, "q", "raise", "Raise")
    with running(worker):
        wait_until(lambda: state(client, "raise") == "scheduled")
    assert state(client, "call") == "scheduled"
    assert get(client, "call")["remaining"] == 4
    assert client.zscore("ql:q:q-scheduled", "call") > time.time() + 900


@check
def an_expected_exception_is_retried_until_the_job_has_no_retries_left(client):
    worker, attempts = make_worker(), []

    @worker.on("Work", retry_on=[OSError], delay=lambda attempt: attempts.append(attempt) or 0)
    def work(job):
        raise ConnectionResetError("smtp")

    put(client, "q", "j", retries=2)
    with running(worker):
        wait_until(lambda: state(client, "j") == "failed")
    assert attempts == [1, 2, 3], attempts
    failure = get(client, "j")["failure"]
    assert failure["group"] == "ConnectionResetError" and "smtp" in failure["message"], failure


@check
def a_job_moves_on_to_the_next_queue(client):
    worker = make_worker()
    worker.on("Now")(lambda job: job.complete({"step": 2}, next="out"))
    worker.on("Later")(lambda job: job.complete(next="out", delay=1000))
    worker.on("After")(lambda job: job.complete(next="out", depends=["other"]))
    put(client, "elsewhere", "other")
    for klass in ("Now", "Later", "After"):
        put(client, "q", klass, klass)
    with running(worker):
        wait_until(lambda: state(client, "After") == "depends")
    job = get(client, "Now")
    assert (job["queue"], job["state"], json.loads(job["data"])) == ("out", "waiting", {"step": 2})
    assert state(client, "Later") == "scheduled"


@check
def jobs_count_under_the_limits_that_they_name(client):
    assert client.execute_command("LIMIT.SET", "api", "CONCURRENCY", "1") == "OK"
    worker, limits = make_worker(), []
    worker.on("First")(lambda job: job.complete(next="out", limits=["mail", "api"]))

    @worker.on("Second")
    def second(job):
        limits.append(job.fields["limits"])

    worker.put("q", "First", jid="first", limits=["api"])
    worker.put("q", "Second", jid="second", limits=["api"])
    assert get(client, "second")["limits"] == ["api"]
    with running(worker):
        wait_until(lambda: state(client, "second") == "complete")
    assert limits == [["api"]]
    assert get(client, "first")["limits"] == ["mail", "api"]


@check
def what_a_handler_did_to_its_job_stands_when_it_raises_later(client):
    worker = make_worker()

    @worker.on("Work")
    def work(job):
        job.complete()
        raise ValueError("too late")

    put(client, "q", "j")
    put(client, "q", "next")
    with running(worker):
        wait_until(lambda: state(client, "next") == "complete")
    assert state(client, "j") == "complete"


@check
def a_job_that_has_ended_refuses_to_end_again(client):
    worker, errors = make_worker(), []

    @worker.on("Work")
    def work(job):
        job.fail("mine", "text")
        try:
            job.complete()
        except RuntimeError as error:
            errors.append(str(error))

    put(client, "q", "j")
    with running(worker):
        wait_until(lambda: errors)
    assert get(client, "j")["failure"]["group"] == "mine"


@check
def a_completion_that_the_server_refuses_fails_the_job(client):
    worker = make_worker()
    worker.on("Work")(lambda job: job.complete({"text": "x" * (3 << 20)}))
    put(client, "q", "j")
    with running(worker):
        wait_until(lambda: state(client, "j") == "failed")
    assert "max-data-size" in get(client, "j")["failure"]["message"]


@check
def a_job_shows_its_progress_and_has_log_entries_in_its_history(client):
    worker, seen = make_worker(), []

    @worker.on("Work")
    def work(job):
        for percent in (0, 33.5, 100):
            job.progress(percent, note="on the way")
            seen.append(get(client, "j")["progress"])
        seen.append(get(client, "j")["note"])
        job.log("sent", to="ann")
        job.heartbeat({"step": 2})

    put(client, "q", "j")
    with running(worker):
        wait_until(lambda: state(client, "j") == "complete")
    assert seen == [0, 33.5, 100, "on the way"], seen
    history = get(client, "j")["history"]
    assert [entry["to"] for entry in history if entry["what"] == "sent"] == ["ann"]


@check
def results_and_errors_are_kept_with_the_job(client):
    worker = make_worker()
    worker.on("Text")(lambda job: job.complete(result="queued as 4711"))
    worker.on("Value")(lambda job: job.complete({"step": 2}, result={"n": [1, 2]}))
    worker.on("Bad")(lambda job: job.fail("refused", "550", error="the whole\nconversation"))
    for klass in ("Text", "Value", "Bad"):
        put(client, "q", klass, klass, {"to": "ann"})
    with running(worker):
        wait_until(lambda: state(client, "Bad") == "failed" and
                   state(client, "Value") == state(client, "Text") == "complete")
    text, value, bad = (get(client, jid) for jid in ("Text", "Value", "Bad"))
    assert text["result"] == "queued as 4711" and json.loads(text["data"]) == {"to": "ann"}
    assert json.loads(value["result"]) == {"n": [1, 2]} and json.loads(value["data"]) == {"step": 2}
    assert bad["error"] == "the whole\nconversation" and bad["failure"]["message"] == "550"


@check
def an_application_gives_its_jobs_fields(client):
    worker, seen = make_worker(), []

    @worker.on("Work")
    def work(job):
        seen.append(job.meta)
        job.set_meta(colour="red", pages=3, draft="yes")
        job.delete_meta("draft", "old")
        seen.append(job.meta)

    put(client, "q", "j")
    client.execute_command("JOB.META", "j", "SET", "old", "value")
    with running(worker):
        wait_until(lambda: state(client, "j") == "complete")
    assert seen == [{"old": "value"}, {"colour": "red", "pages": "3"}], seen
    assert get(client, "j")["meta"] == {"colour": "red", "pages": "3"}


@check
def jobs_of_a_queue_with_a_start_timeout_are_started(client):
    worker, seen = make_worker(report_start=True), []

    @worker.on("Work")
    def work(job):
        fields = get(client, "j")
        seen.append((fields["pid"], fields["node"]))

    client.execute_command("CONFIG.SET", "q-start-timeout", "1000")
    put(client, "q", "j")
    with running(worker):
        wait_until(lambda: state(client, "j") == "complete")
    client.execute_command("CONFIG.UNSET", "q-start-timeout")
    assert seen == [(os.getpid(), socket.gethostname())], seen


@check
def a_retry_without_a_delay_leaves_it_to_the_backoff(client):
    worker = make_worker()

    @worker.on("Work")
    def work(job):
        raise Retry

    @worker.on("Expected", retry_on=[OSError])
    def expected(job):
        raise OSError("the disk is full")

    for jid, klass in (("a", "Work"), ("b", "Expected")):
        client.execute_command("PUT", "test", "q", jid, klass, "{}", 0, "backoff", "fixed", 1000,
                               1000)
    with running(worker):
        wait_until(lambda: state(client, "a") == state(client, "b") == "scheduled")
    assert get(client, "b")["failure"]["group"] == "OSError"


@check
def a_raw_job_has_bytes(client):
    worker, seen = make_worker(), []

    @worker.on("Work")
    def work(job):
        seen.append(job.data)
        job.complete(b"\xff\0end" if job.jid == "new" else None)

    for jid in ("kept", "new"):
        client.execute_command("PUT", "test", "q", jid, "Work", b"\0{\xff", 0, "raw")
    with running(worker):
        wait_until(lambda: state(client, "kept") == state(client, "new") == "complete")
    assert seen == [b"\0{\xff"] * 2, seen
    assert get(client, "kept")["data"] == '{"base64":"AHv/"}', get(client, "kept")["data"]
    assert get(client, "new")["data"] == '{"base64":"/wBlbmQ="}', get(client, "new")["data"]


@check
def any_bytes_of_a_job_come_back_as_they_were(client):
    worker, seen = make_worker("schlange ü"), []
    worker.on("Größe")(lambda job: seen.append((job.jid, job.data)) or job.complete(job.data))
    data = {"text": "Grüße, \0 日本語 🎉", "more": "x" * 200_000}
    put(client, "schlange ü", "schlüssel", "Größe", data)
    with running(worker):
        wait_until(lambda: state(client, "schlüssel") == "complete")
    assert seen == [("schlüssel", data)]
    assert json.loads(get(client, "schlüssel")["data"]) == data


# ---- queues and concurrency ----

def order_of(client, order):
    worker, seen = make_worker("c", "b", "a", order=order), []
    worker.on()(lambda job: seen.append(job.queue))
    for queue, count in (("a", 5), ("b", 2), ("c", 3)):
        for number in range(count):
            put(client, queue, f"{queue}{number}")
    with running(worker):
        wait_until(lambda: waiting(client))
    return "".join(seen)


@check
def the_first_queue_is_emptied_first(client):
    assert order_of(client, "ordered") == "cccbbaaaaa"


@check
def queues_take_turns(client):
    assert order_of(client, "roundrobin") == "cbacbacaaa"


@check
def jobs_of_other_classes_are_left_to_other_workers(client):
    worker, seen = make_worker(klass="Send"), []
    worker.on()(lambda job: seen.append(job.jid))
    for jid, klass in (("r1", "Report"), ("s1", "Send"), ("r2", "Report"), ("s2", "Send")):
        put(client, "q", jid, klass)
    with running(worker):
        wait_until(lambda: state(client, "s2") == "complete" and waiting(client))
    assert seen == ["s1", "s2"]
    assert (state(client, "r1"), state(client, "r2")) == ("waiting", "waiting")
    assert [job.jid for job in make_worker(klass="Report").drain(limit=1)] == ["r1"]


@check
def jobs_in_memory_are_drained_by_class(client):
    worker, seen = make_worker(klass="Send"), []
    worker.on()(lambda job: seen.append(job.jid))
    with worker.inline() as jobs:
        worker.put("q", "Report", jid="r1")
        worker.put("q", "Send", jid="s1")
        worker.drain()
        assert jobs["r1"]["state"] == "waiting"
    assert seen == ["s1"]


@check
def jobs_run_at_once_in_threads(client):
    worker, barrier = make_worker(concurrency=4), threading.Barrier(4)
    worker.on("Work")(lambda job: barrier.wait(PATIENCE) and None)
    for number in range(8):
        put(client, "q", str(number))
    with running(worker):
        wait_until(lambda: all(state(client, str(n)) == "complete" for n in range(8)))


@check
def a_worker_takes_no_more_jobs_than_it_runs(client):
    worker, gate = make_worker(concurrency=2), threading.Event()
    worker.on("Work")(lambda job: gate.wait(PATIENCE) and None)
    for number in range(5):
        put(client, "q", str(number))
    with running(worker):
        wait_until(lambda: client.zcard("ql:q:q-locks") == 2)
        assert client.zcard("ql:q:q-work") == 3
        gate.set()
        wait_until(lambda: all(state(client, str(n)) == "complete" for n in range(5)))


@check
def a_worker_shares_queues_with_clients_that_poll_by_scripts(client):
    script = client.register_script(SCRIPT)
    worker, gate = make_worker(), threading.Event()
    worker.on()(lambda job: gate.wait(PATIENCE) and None)
    for number in range(12):
        put(client, "q", str(number))
    with running(worker):
        wait_until(lambda: client.zcard("ql:q:q-locks") == 1)
        for _ in range(5):  # the worker has a job, and does not take these
            (job,) = json.loads(script([], ["pop", time.time(), "q", "poller", 1]))
            script([], ["complete", time.time(), job["jid"], "poller", "q", job["data"]])
        gate.set()
        wait_until(lambda: all(state(client, str(n)) == "complete" for n in range(12)))
        wait_until(lambda: waiting(client))
        for number in range(5):  # the worker waits, and the poller does not take these
            wait_until(lambda: waiting(client))
            script([], ["put", time.time(), "poller", "q", f"x{number}", "Work", "{}", 0])
            assert json.loads(script([], ["pop", time.time(), "q", "poller", 10])) in ([], {})
            wait_until(lambda: state(client, f"x{number}") == "complete")
    workers = [get(client, str(n))["history"][-2]["worker"] for n in range(12)]
    assert workers.count("poller") == 5 and workers.count(worker.name) == 7, workers


# ---- lost jobs ----

@check
def a_job_that_is_taken_away_cancels_its_handler(client):
    worker, seen = make_worker(), []

    @worker.on("Work")
    def work(job):
        if job.attempt == 1 and not seen:
            seen.append("began")
            wait_until(lambda: job.cancelled)
            try:
                job.heartbeat()
            except JobLost:
                seen.append("lost")
                raise

    put(client, "q", "j")
    with running(worker):
        wait_until(lambda: seen)
        client.execute_command("TIMEOUT", "j")
        wait_until(lambda: state(client, "j") == "complete")
    assert seen == ["began", "lost"], seen


@check
def a_canceled_job_cancels_its_handler(client):
    worker, seen = make_worker(), []

    @worker.on("Work")
    def work(job):
        seen.append("began")
        wait_until(lambda: job.cancelled)
        try:
            job.check()
        finally:
            seen.append("ended")

    put(client, "q", "j")
    with running(worker):
        wait_until(lambda: seen)
        client.execute_command("CANCEL", "j")
        wait_until(lambda: len(seen) == 2)
    assert state(client, "j") is None


@check
def handlers_that_expect_any_exception_do_not_swallow_a_lost_job(client):
    worker, seen = make_worker(), []

    @worker.on("Work")
    def work(job):
        client.execute_command("CANCEL", "j")
        try:
            job.complete()
        except Exception:
            seen.append("swallowed")

    put(client, "q", "j")
    with running(worker):
        put(client, "q", "next", "Next")
        wait_until(lambda: state(client, "next") == "failed")
    assert seen == [], seen


@check
def a_lost_job_interrupts_a_handler_that_never_asks(client):
    worker, seen = make_worker(interrupt=True), []

    @worker.on("Work")
    def work(job):
        try:
            seen.append("began")
            while True:
                time.sleep(0.001)
        except JobLost:
            seen.append("interrupted")
            raise

    worker.on("Next")(lambda job: seen.append("next"))
    with running(worker):
        for _ in range(20):
            put(client, "q", "j")
            wait_until(lambda: "began" in seen)
            client.execute_command("CANCEL", "j")
            put(client, "q", "next", "Next")
            wait_until(lambda: state(client, "next") == "complete")
            assert seen == ["began", "interrupted", "next"], seen
            seen.clear()


@check
def an_interrupted_thread_runs_its_next_job_undisturbed(client):
    """The job is lost at the moment in which its handler ends."""
    worker, done = make_worker(interrupt=True, concurrency=2), []
    worker.on("Work")(lambda job: client.execute_command("CANCEL", job.jid) and None)
    worker.on("Next")(lambda job: [time.sleep(0) for _ in range(20)] and None)
    with running(worker):
        for number in range(100):
            put(client, "q", f"j{number}")
            put(client, "q", f"n{number}", "Next")
            done.append(f"n{number}")
        wait_until(lambda: all(state(client, jid) == "complete" for jid in done))


@check
def a_job_that_comes_back_to_its_worker_is_not_ended_by_its_first_run(client):
    worker, jobs, gates = make_worker(concurrency=2), [], [threading.Event(), threading.Event()]
    lost = []

    @worker.on("Work")
    def work(job):
        number = len(jobs)
        jobs.append(job)
        gates[number].wait(PATIENCE)
        try:
            job.complete({"run": number})
        except JobLost:
            lost.append(number)
            raise

    put(client, "q", "j")
    with running(worker):
        wait_until(lambda: len(jobs) == 1)
        client.execute_command("TIMEOUT", "j")
        wait_until(lambda: len(jobs) == 2 and jobs[0].cancelled)
        jobs[0]._lost = None  # as if the event had not arrived
        gates[0].set()
        wait_until(lambda: lost)
        assert lost == [0] and state(client, "j") == "running" and not jobs[1].cancelled
        gates[1].set()
        wait_until(lambda: state(client, "j") == "complete")
    assert json.loads(get(client, "j")["data"]) == {"run": 1}


@check
def the_server_keeps_the_lock_of_a_job_that_takes_longer(client):
    client.execute_command("CONFIG.SET", "heartbeat", 1)
    client.config_resetstat()
    worker, gate, jobs = make_worker(), threading.Event(), []
    worker.on("Work")(lambda job: jobs.append(job) or gate.wait(PATIENCE) and None)
    put(client, "q", "j")
    with running(worker):
        wait_until(lambda: jobs)
        first = jobs[0].fields["expires"]
        wait_until(lambda: get(client, "j")["expires"] > first + 1.5)
        gate.set()
        wait_until(lambda: state(client, "j") == "complete")
    calls = client.info("commandstats").get("cmdstat_heartbeat", {"calls": 0})["calls"]
    assert len(jobs) == 1 and calls == 0, calls


# ---- lost connections ----

def survives(client, number):
    worker, gate, jobs = make_worker(concurrency=2), threading.Event(), []
    worker.on("Work")(lambda job: jobs.append(job) or gate.wait(PATIENCE) and None)
    put(client, "q", "before")
    with running(worker):
        wait_until(lambda: jobs and waiting(client))
        restart(client, number)
        wait_until(lambda: waiting(client))
        put(client, "q", "after")
        wait_until(lambda: len(jobs) == 2)
        gate.set()
        wait_until(lambda: state(client, "before") == state(client, "after") == "complete")
    assert [job.jid for job in jobs] == ["before", "after"]
    assert client.execute_command("CONSISTENCYCHECK") == []


@check
def a_worker_goes_on_after_a_restart_of_the_server(client):
    survives(client, signal.SIGTERM)


@check
def a_worker_goes_on_after_the_server_was_killed(client):
    survives(client, signal.SIGKILL)


@check
def a_job_ends_during_a_restart_of_the_server(client):
    worker, jobs = make_worker(), []

    @worker.on("Work")
    def work(job):
        restart(client, signal.SIGKILL)
        job.progress(50)
        restart(client, signal.SIGTERM)
        jobs.append(job)

    put(client, "q", "j")
    with running(worker):
        wait_until(lambda: jobs and state(client, "j") == "complete")
    assert len(jobs) == 1


@check
def a_job_whose_completion_has_no_reply_is_complete(client):
    proxy, jobs = Proxy().open(), []
    worker = Worker(proxy.url, ["q"])
    worker.on("Work")(lambda job: jobs.append(job))
    proxy.victims.append(("COMPLETE", "complete"))
    put(client, "q", "j")
    put(client, "q", "next")
    with running(worker):
        wait_until(lambda: state(client, "next") == "complete")
    proxy.close()
    assert [job.state for job in jobs] == ["unknown", "complete"], jobs
    assert proxy.victims == [] and state(client, "j") == "complete"


@check
def a_job_whose_hand_over_was_lost_is_found(client):
    proxy, jobs = Proxy().open(), []
    worker = Worker(proxy.url, ["q"], concurrency=3)
    worker.on("Work")(lambda job: jobs.append((job.jid, job._lock_number)))
    proxy.victims += [("BPOP", '"j0"'), ("BPOP", '"j1"')]
    with running(worker):
        wait_until(lambda: waiting(client, 3))
        for number in range(4):
            put(client, "q", f"j{number}")
        wait_until(lambda: all(state(client, f"j{n}") == "complete" for n in range(4)))
    proxy.close()
    assert proxy.victims == []
    assert sorted(jid for jid, _ in jobs) == ["j0", "j1", "j2", "j3"], jobs
    assert get(client, "j0")["remaining"] == 5, "it was handed out once"


@check
def a_job_that_was_handed_to_a_severed_connection_is_found(client):
    proxy, jobs, before = Proxy().open(), [], qlessd_worker.WAIT_SECONDS
    qlessd_worker.WAIT_SECONDS = 3
    try:
        worker = Worker(proxy.url, ["q"])
        worker.on("Work")(lambda job: jobs.append(job.jid))
        with running(worker):
            wait_until(lambda: waiting(client))
            proxy.sever()
            wait_until(lambda: waiting(client, 2))
            put(client, "q", "j")
            wait_until(lambda: state(client, "j") == "complete")
    finally:
        qlessd_worker.WAIT_SECONDS = before
        proxy.close()
    assert jobs == ["j"] and any(b'"j"' in reply for reply in proxy.swallowed)


@check
def a_worker_waits_for_a_server_that_is_not_there_yet(client):
    proxy = Proxy()
    worker = Worker(proxy.url, ["q"])
    worker.on("Work")(lambda job: None)
    put(client, "q", "j")
    with running(worker):
        wait_until(lambda: worker._runner._is_out)
        proxy.open()
        wait_until(lambda: state(client, "j") == "complete")
    proxy.close()


@check
def a_worker_stops_although_the_server_does_not_answer(client):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        worker = Worker(f"redis://127.0.0.1:{silent.getsockname()[1]}/{OPTIONS}", ["q"])
        with impatient(), running(worker), contextlib.closing(silent.accept()[0]):
            pass


@check
def a_job_is_put_once_if_its_reply_is_lost(client):
    proxy = Proxy().open()
    producer = Client(proxy.url)
    proxy.victims.append(("PUT", "$32"))
    jid = producer.put("q", "Work", {"n": 1})
    producer.close()
    proxy.close()
    assert proxy.victims == [] and state(client, jid) == "waiting"
    assert client.zcard("ql:q:q-work") == 1
    assert len(get(client, jid)["history"]) == 1, "it was put again"


@check
def a_producer_waits_for_a_restart_of_the_server(client):
    producer = Client(URL)
    first = producer.put("q", "Work")
    restart(client, signal.SIGTERM)
    second = producer.put("q", "Work", retries=1, delay=1000)
    producer.close()
    assert state(client, first) == "waiting"
    assert state(client, second) == "scheduled" and get(client, second)["retries"] == 1


@check
def a_killed_connection_loses_no_job(client):
    worker, gate, jobs = make_worker(concurrency=2), threading.Event(), []
    worker.on("Work")(lambda job: jobs.append(job) or gate.wait(PATIENCE) and None)
    put(client, "q", "j")
    with running(worker):
        wait_until(lambda: jobs and waiting(client))
        mine = client.client_id()
        for other in client.client_list():
            if int(other["id"]) != mine:
                client.client_kill_filter(_id=other["id"])
        put(client, "q", "next")
        wait_until(lambda: len(jobs) == 2)
        assert not jobs[0].cancelled
        gate.set()
        wait_until(lambda: state(client, "j") == state(client, "next") == "complete")
    assert len(jobs) == 2


@check
def a_user_without_events_learns_of_a_lost_job_by_its_next_call(client):
    client.execute_command("ACL", "SETUSER", "ann", "on", ">secret", "+@all", "~*", "resetchannels")
    worker, seen = Worker(f"redis://ann:secret@127.0.0.1:{PORT}/{OPTIONS}", ["q"]), []

    @worker.on("Work")
    def work(job):
        client.execute_command("CANCEL", "j")
        try:
            job.heartbeat()
        except JobLost:
            seen.append("lost")
            raise

    put(client, "q", "j")
    with running(worker):
        wait_until(lambda: seen)
    client.acl_deluser("ann")


@check
def an_exclusive_queue_has_one_worker_and_another_that_waits(client):
    first, second = (make_worker(exclusive="q", name=name) for name in ("first", "second"))
    seen = []
    for worker in (first, second):
        worker.on("Work")(lambda job, name=worker.name: seen.append(name))
    with running(first) as thread:
        wait_until(lambda: waiting(client))
        with running(second):
            wait_until(lambda: second._runner._is_out)
            put(client, "q", "a")
            wait_until(lambda: state(client, "a") == "complete")
            first.stop()
            thread.join(PATIENCE)
            put(client, "q", "b")
            wait_until(lambda: state(client, "b") == "complete")
    assert seen == ["first", "second"], seen


# ---- stop and quiet ----

@check
def a_worker_that_stops_finishes_its_jobs_and_takes_no_more(client):
    worker, gate, began = make_worker(concurrency=2), threading.Event(), threading.Event()
    worker.on("Work")(lambda job: began.set() or gate.wait(PATIENCE) and None)
    put(client, "q", "j")
    with running(worker) as thread:
        assert began.wait(PATIENCE)
        wait_until(lambda: waiting(client))
        worker.stop()
        wait_until(lambda: waiting(client, 0))
        put(client, "q", "late")
        assert thread.is_alive()
        gate.set()
    assert state(client, "j") == "complete" and state(client, "late") == "waiting"


@check
def a_job_that_does_not_end_in_time_is_released_and_costs_no_retry(client):
    worker, gate, jobs = make_worker(stop_timeout=0), threading.Event(), []

    @worker.on("Work")
    def work(job):
        jobs.append(job)
        gate.wait(PATIENCE)

    put(client, "q", "j")
    with impatient(), running(worker):
        wait_until(lambda: jobs)
    job = get(client, "j")
    assert (job["state"], job["remaining"]) == ("waiting", 5), job
    assert jobs[0].cancelled
    gate.set()
    wait_until(lambda: jobs[0].state == "lost")
    assert state(client, "j") == "waiting"


@check
def a_worker_stops_although_the_server_answers_no_longer(client):
    worker = make_worker(concurrency=2, stop_timeout=10000)
    server = client.info("server")["process_id"]
    try:
        with impatient(), running(worker):
            wait_until(lambda: waiting(client, 2))
            os.kill(server, signal.SIGSTOP)
    finally:
        os.kill(server, signal.SIGCONT)


@check
def a_worker_that_has_stopped_leaves_no_connection(client):
    worker = make_worker(concurrency=3)
    with running(worker):
        wait_until(lambda: waiting(client, 3))
    wait_until(lambda: len(client.client_list()) == 1)


@check
def a_quiet_worker_finishes_its_jobs_and_takes_no_more_until_it_resumes(client):
    worker, gate, jobs = make_worker(concurrency=2), threading.Event(), []
    worker.on("Work")(lambda job: jobs.append(job.jid) or gate.wait(PATIENCE) and None)
    put(client, "q", "j")
    with running(worker):
        wait_until(lambda: jobs and waiting(client))
        worker.quiet()
        wait_until(lambda: waiting(client, 0))
        put(client, "q", "late")
        gate.set()
        wait_until(lambda: state(client, "j") == "complete")
        assert state(client, "late") == "waiting" and jobs == ["j"]
        worker.resume()
        wait_until(lambda: state(client, "late") == "complete")


LONG = r"""
worker = Worker(queues=["q"], stop_timeout=60)

@worker.on("Long")
def work(job):
    print(f"{job.jid}\n", end="")
    while not os.path.exists(job.data["until"]):
        time.sleep(0.01)

worker.on("Work")(lambda job: print(job.jid))
worker.run()
print("stopped")
"""


@check
def sigterm_lets_a_running_job_end(client):
    with tempfile.TemporaryDirectory() as directory:
        until = os.path.join(directory, "until")
        put(client, "q", "j", "Long", {"until": until})
        with Script(LONG) as script:
            assert script.read() == "j"
            script.signal(signal.SIGTERM)
            put(client, "q", "late")
            pathlib.Path(until).touch()
            assert script.wait() == 0 and script.rest == ["stopped"], script.rest
    assert state(client, "j") == "complete" and state(client, "late") == "waiting"


@check
def sigint_stops_a_worker_that_waits(client):
    with Script(LONG) as script:
        wait_until(lambda: waiting(client))
        script.signal(signal.SIGINT)
        assert script.wait() == 0 and script.rest == ["stopped"], script.rest


@check
def signals_make_a_worker_quiet_and_resume_it(client):
    with Script(LONG) as script:
        for number in (signal.SIGTSTP, signal.SIGUSR1):
            wait_until(lambda: waiting(client))
            script.signal(number)
            wait_until(lambda: waiting(client, 0))
            put(client, "q", "j", "Work")
            assert state(client, "j") == "waiting"
            script.signal(signal.SIGCONT)
            assert script.read() == "j"
        script.signal(signal.SIGTERM)
        assert script.wait() == 0


@check
def a_second_sigterm_does_not_wait(client):
    with Script(LONG.replace("timeout=60", "timeout=60, concurrency=2")) as script:
        put(client, "q", "j", "Long", {"until": "/nowhere"})
        assert script.read() == "j"
        wait_until(lambda: waiting(client))
        script.signal(signal.SIGTERM)
        wait_until(lambda: waiting(client, 0))
        script.signal(signal.SIGTERM)
        assert script.wait() == 0 and script.rest == ["stopped"], script.rest
    assert state(client, "j") == "waiting"


@check
def the_jobs_of_a_killed_worker_are_back_after_its_grace_period(client):
    with Script(LONG.replace("timeout=60", "timeout=60, grace=0.01")) as script:
        put(client, "q", "j", "Long", {"until": "/nowhere"})
        assert script.read() == "j"
        script.signal(signal.SIGKILL)
        wait_until(lambda: state(client, "j") == "waiting")


@check
def a_worker_releases_the_jobs_of_a_dead_one_that_had_its_name(client):
    named = LONG.replace("timeout=60", "timeout=60, grace=10000, name='mailer'")
    with tempfile.TemporaryDirectory() as directory:
        until = os.path.join(directory, "until")
        put(client, "q", "j", "Long", {"until": until})
        with Script(named) as script:
            assert script.read() == "j"
            script.signal(signal.SIGKILL)
        with Script(named) as script:
            assert script.read() == "j"
            assert get(client, "j")["remaining"] == 4, "its death counts as a retry"
            pathlib.Path(until).touch()
            wait_until(lambda: state(client, "j") == "complete")


# ---- processes ----

PROCESSES = LONG.replace("timeout=60", "timeout=60, concurrency=2, processes=True").replace(
    "{job.jid}", "{job.jid} {os.getpid()} {os.getppid()}")


@check
def jobs_run_at_once_in_processes(client):
    with tempfile.TemporaryDirectory() as directory, Script(PROCESSES) as script:
        until = os.path.join(directory, "until")
        for jid in ("a", "b"):
            put(client, "q", jid, "Long", {"until": until})
        lines = sorted(script.read().split() for _ in range(2))
        assert [line[0] for line in lines] == ["a", "b"], lines
        assert lines[0][1] != lines[1][1] and {line[2] for line in lines} == {str(script.pid)}
        script.signal(signal.SIGTERM)
        pathlib.Path(until).touch()
        assert script.wait() == 0 and script.rest == ["stopped"], script.rest
    assert state(client, "a") == state(client, "b") == "complete"


@check
def a_lost_job_interrupts_a_process_in_a_system_call(client):
    with Script("""
worker = Worker(queues=["q"], processes=True)

@worker.on("Sleep")
def work(job):
    try:
        print("began", os.getpid())
        time.sleep(10000)
    finally:
        print("ended")

worker.on("Next")(lambda job: print(os.getpid()))
worker.run()
""") as script:
        for _ in range(5):
            put(client, "q", "j", "Sleep")
            put(client, "q", "next", "Next")
            began, pid = script.read().split()
            assert began == "began"
            client.execute_command("CANCEL", "j")
            assert script.read() == "ended"
            assert script.read() == pid, "another process"
            wait_until(lambda: state(client, "next") == "complete")
        script.signal(signal.SIGTERM)
        assert script.wait() == 0


@check
def a_process_that_is_killed_loses_nothing_and_is_replaced(client):
    with tempfile.TemporaryDirectory() as directory, Script(PROCESSES) as script:
        until = os.path.join(directory, "until")
        for jid in ("a", "b"):
            put(client, "q", jid, "Long", {"until": until})
        pids = dict(script.read().split()[:2] for _ in range(2))
        os.kill(int(pids["a"]), signal.SIGKILL)
        jid, pid, _ = script.read().split()
        assert jid == "a" and pid not in pids.values()
        assert get(client, "a")["remaining"] == 4, "its death counts as a retry"
        pathlib.Path(until).touch()
        wait_until(lambda: state(client, "a") == state(client, "b") == "complete")
        assert get(client, "b")["remaining"] == 5
        script.signal(signal.SIGTERM)
        assert script.wait() == 0 and script.rest == ["stopped"], script.rest


@check
def a_job_that_kills_its_process_again_and_again_fails(client):
    with Script(PROCESSES.replace("time.sleep(0.01)", "os.kill(os.getpid(), 9)")) as script:
        put(client, "q", "j", "Long", {"until": "/nowhere"}, retries=2)
        wait_until(lambda: state(client, "j") == "failed")
        put(client, "q", "next")
        wait_until(lambda: state(client, "next") == "complete")
        script.signal(signal.SIGTERM)
        assert script.wait() == 0


@check
def processes_end_with_their_parent(client):
    with tempfile.TemporaryDirectory() as directory, Script(PROCESSES) as script:
        until = os.path.join(directory, "until")
        put(client, "q", "j", "Long", {"until": until})
        _, pid, _ = script.read().split()
        script.signal(signal.SIGKILL)
        wait_until(lambda: waiting(client, 0))
        pathlib.Path(until).touch()
        wait_until(lambda: state(client, "j") == "complete")
        wait_until(lambda: not os.path.exists(f"/proc/{pid}"))


@check
def a_process_whose_handler_ignores_a_lost_job_is_replaced(client):
    with Script("""
worker = Worker(queues=["q"], processes=True, stop_timeout=0.1)

@worker.on("Stubborn")
def work(job):
    is_new = True
    while True:
        try:
            if is_new:
                is_new = False
                print("began", os.getpid())
            time.sleep(10000)
        except JobLost:
            print("ignored")

worker.on("Next")(lambda job: print(os.getpid()))
worker.run()
""") as script:
        put(client, "q", "j", "Stubborn")
        _, pid = script.read().split()
        client.execute_command("CANCEL", "j")
        assert script.read() == "ignored"
        put(client, "q", "next", "Next")
        assert script.read() not in ("", pid)
        wait_until(lambda: state(client, "next") == "complete")
        script.signal(signal.SIGTERM)
        assert script.wait() == 0


@check
def quiet_reaches_all_processes(client):
    with Script(PROCESSES) as script:
        wait_until(lambda: waiting(client, 2))
        script.signal(signal.SIGTSTP)
        wait_until(lambda: waiting(client, 0))
        script.signal(signal.SIGCONT)
        wait_until(lambda: waiting(client, 2))
        script.signal(signal.SIGINT)
        assert script.wait() == 0 and script.rest == ["stopped"], script.rest


# ---- logins and TLS ----

def raises(kind, text, function, *arguments, **options):
    try:
        value = function(*arguments, **options)
    except kind as error:
        assert text in str(error), f"{error} instead of {text}"
    else:
        raise AssertionError(f"{value!r} instead of an error")


@check
def a_user_works_in_a_database_of_its_choice(client):
    client.acl_setuser("ann", enabled=True, passwords=["+secret"], categories=["+@all"],
                       keys=["*"], channels=["*"])
    worker = Worker(f"redis://ann:secret@127.0.0.1:{PORT}/3{OPTIONS}", ["q"])
    worker.on("Work")(lambda job: None)
    with connect(db=3) as other, running(worker):
        jid = worker.put("q", "Work")
        wait_until(lambda: state(other, jid) == "complete")
        assert state(client, jid) is None
    client.acl_deluser("ann")


@check
def the_role_of_workers_suffices(client):
    client.execute_command("ACL", "SETUSER", "ann", "on", ">secret", "+@worker", "~*", "&ql:w:*")
    worker, gate = Worker(f"redis://ann:secret@127.0.0.1:{PORT}/{OPTIONS}", ["q"]), []

    @worker.on("Work")
    def work(job):
        job.progress(50)
        gate.append(job)
        wait_until(lambda: job.cancelled or len(gate) > 1)

    put(client, "q", "lost")
    with warnings() as texts, running(worker):
        wait_until(lambda: gate)
        client.execute_command("CANCEL", "lost")
        put(client, "q", "j")
        wait_until(lambda: state(client, "j") == "complete")
        worker.quiet()
        wait_until(lambda: waiting(client, 0))
        worker.resume()
        wait_until(lambda: waiting(client))
    client.acl_deluser("ann")
    assert ["lost job" in text for text in texts] == [True], texts


@check
def a_job_that_the_user_may_not_end_is_tried_again_later(client):
    client.execute_command("ACL", "SETUSER", "ann", "on", ">secret", "+@all", "-complete", "-fail",
                           "~*", "&*")
    worker = Worker(f"redis://ann:secret@127.0.0.1:{PORT}/{OPTIONS}", ["q"])
    worker.on("Work")(lambda job: None)
    put(client, "q", "j")
    with running(worker):
        wait_until(lambda: state(client, "j") == "scheduled")
    client.acl_deluser("ann")


@check
def a_wrong_password_ends_the_worker(client):
    client.acl_setuser("ann", enabled=True, passwords=["+secret"], categories=["+@all"])
    worker = Worker(f"redis://ann:wrong@127.0.0.1:{PORT}/{OPTIONS}", ["q"])
    raises(redis.RedisError, "", worker.run)
    client.acl_deluser("ann")


@check
def a_wrong_password_ends_a_worker_with_processes(client):
    client.acl_setuser("ann", enabled=True, passwords=["+secret"], categories=["+@all"])
    with Script(f"""
worker = Worker("redis://ann:wrong@127.0.0.1:{PORT}/{OPTIONS}", ["q"], processes=True)
try:
    worker.run()
except RuntimeError as error:
    print(error)
""") as script:
        assert "cannot work" in script.read()
        assert script.wait() == 0
    client.acl_deluser("ann")


@check
def a_missing_permission_ends_the_worker(client):
    client.execute_command("ACL", "SETUSER", "ann", "on", ">secret", "+@all", "~other", "&*")
    worker = Worker(f"redis://ann:secret@127.0.0.1:{PORT}/{OPTIONS}", ["q"])
    raises(redis.RedisError, "", worker.run)
    client.acl_deluser("ann")


@check
def a_worker_uses_tls_and_client_certificates(client):
    secure = redis.Redis(host="127.0.0.1", port=TLS_PORT, ssl=True, decode_responses=True,
                         ssl_ca_certs=str(CERTIFICATES / "ca.crt"),
                         ssl_certfile=str(CERTIFICATES / "client.crt"),
                         ssl_keyfile=str(CERTIFICATES / "client.key"),
                         **({"protocol": int(PROTOCOL)} if PROTOCOL else {}))
    worker, seen = Worker(secure, ["q"], concurrency=2), []

    @worker.on("Work")
    def work(job):
        seen.append(job.jid)
        if job.jid == "long":
            wait_until(lambda: job.cancelled)

    with running(worker):
        wait_until(lambda: waiting(client, 2))
        jid = worker.put("q", "Work", {"more": "x" * 200_000})
        wait_until(lambda: state(client, jid) == "complete")
        put(client, "q", "long")
        wait_until(lambda: "long" in seen)
        client.execute_command("CANCEL", "long")
        wait_until(lambda: waiting(client, 2))
    assert seen == [jid, "long"], seen
    secure.close()


# ---- test mode ----

@check
def a_handler_runs_without_a_server(client):
    worker = Worker("redis://127.0.0.1:1", ["q"])  # nobody listens there

    @worker.on("Send")
    def send(job):
        if "to" not in job.data:
            job.fail("bad-data", "no to")
        elif job.data["to"] == "later":
            job.retry(60)
        elif job.data["to"] == "next":
            job.start()
            job.progress(50, "half")
            job.set_meta(colour="red", size=2)
            job.delete_meta("size")
            job.complete({"done": True}, next="out", result="sent")

    assert worker.run_inline("Send", {"to": "ann"}).state == "complete"
    assert worker.run_inline("Send", {}).state == "failed"
    assert worker.run_inline("Send", {"to": "later"}).state == "scheduled"
    assert worker.run_inline("Send", {"to": "next"}).state == "waiting"
    worker.on("Bad")(lambda job: 1 / 0)
    raises(ZeroDivisionError, "division", worker.run_inline, "Bad")
    assert worker.run_inline("Bad", raise_errors=False).state == "failed"
    assert worker.run_inline("Other").state == "failed"


@check
def jobs_in_memory_are_drained_without_a_server(client):
    worker, seen = Worker("redis://127.0.0.1:1", ["q", "out"]), []

    @worker.on("Plan")
    def plan(job):
        first = worker.put("q", "Step", {"n": 1}, priority=-1)
        worker.put("q", "Step", {"n": 2}, depends=[first])
        worker.put("q", "Step", {"n": 0})

    @worker.on("Step", retry_on=[OSError])
    def step(job):
        seen.append((job.queue, job.data["n"]))
        if job.data["n"] == 0 and job.attempt < 3:
            raise OSError
        if job.queue == "q":
            job.complete(next="out")

    with worker.inline() as jobs:
        worker.put("q", "Plan", jid="plan")
        done = worker.drain()
        assert {job["state"] for job in jobs.values()} == {"complete"}, jobs
        assert jobs["plan"]["klass"] == "Plan"
    assert [step for step in seen if step[1] == 0] == [("q", 0)] * 3 + [("out", 0)], seen
    assert [step for step in seen if step[1] != 0] == [("q", 1), ("out", 1), ("q", 2), ("out", 2)]
    assert len(done) == 1 + len(seen)


@check
def jobs_of_the_server_are_drained_in_this_thread(client):
    worker, threads = make_worker("p", "q"), set()
    worker.on("Work")(lambda job: threads.add(threading.current_thread()))
    worker.on("Bad")(lambda job: 1 / 0)
    for number in range(3):
        put(client, "q", str(number))
    put(client, "p", "bad", "Bad")
    assert [job.jid for job in worker.drain(limit=2)] == ["bad", "0"]
    assert [(job.jid, job.state) for job in worker.drain()] == [("1", "complete"),
                                                                ("2", "complete")]
    assert threads == {threading.current_thread()}
    assert get(client, "bad")["failure"]["group"] == "ZeroDivisionError"
    put(client, "p", "bad", "Bad")
    raises(ZeroDivisionError, "division", worker.drain, raise_errors=True)


@check
def mistakes_of_the_programmer_are_refused(client):
    raises(ValueError, "queues is a list of names; found 'q'", Worker, URL, "q")
    raises(ValueError, "queues is a list of names; found []", Worker, URL, [])
    raises(ValueError, "concurrency is at least 1; found 0", Worker, URL, ["q"], concurrency=0)
    raises(ValueError, "found 'random'", Worker, URL, ["q"], order="random")
    raises(ValueError, "klass is the name of a class", Worker, URL, ["q"], klass="")
    worker = make_worker()

    async def coroutine(job):
        pass

    raises(TypeError, "coroutine is a coroutine", worker.on("Work"), coroutine)
    worker.on("Work")(lambda job: job.complete(delay=5))
    raises(ValueError, "delay, depends and limits need next", worker.run_inline, "Work")


@check
def the_example_in_the_readme_runs_as_pasted(client):
    blocks = re.findall(r"(?m)(?:^(?:    .*)?\n)+", README.read_text(encoding="utf-8"))
    (example,) = [block for block in blocks if "from qlessd_worker import" in block]
    lines = [line[4:] for line in example.strip("\n").splitlines()]
    assert len(lines) <= 10, lines
    put(client, "mail", "j", "Send", {"to": "ann@example.org"})
    with Script("\n".join(lines) + "\n", head="") as script:
        assert script.read() == "hello ann@example.org"
        wait_until(lambda: state(client, "j") == "complete")
        script.signal(signal.SIGTERM)
        assert script.wait() == 0


def give_up(*_):
    raise AssertionError("the case takes too long")


def main(names):
    signal.signal(signal.SIGALRM, give_up)
    failed = 0
    chosen = [each for each in checks if not names or any(name in each.__name__ for name in names)]
    print(f"1..{len(chosen)}")
    for number, function in enumerate(chosen, 1):
        with connect() as client:
            client.flushall()
            client.script_flush()
            outcome = "ok"
            signal.alarm(2 * PATIENCE)
            try:
                function(client)
            except Exception:  # whatever it is, the next case may do better
                outcome = "not ok"
                failed += 1
                traceback.print_exc()
            for kind in ("normal", "pubsub"):  # those of producers
                client.client_kill_filter(_type=kind, skipme=True)
        print(f"{outcome} {number} - {function.__name__.replace('_', ' ')}", flush=True)
    return failed != 0


if __name__ == "__main__":
    logging.basicConfig(level=os.environ.get("QLESSD_TEST_LOG", "CRITICAL"),
                        format="%(asctime)s %(threadName)s: %(message)s")
    sys.exit(main(sys.argv[1:]))
