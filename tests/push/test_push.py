#!/usr/bin/python3
"""Jobs that the server posts to endpoints: requests, answers, outcomes, and the commands."""

import base64
import email.utils
import gzip
import hashlib
import hmac
import json
import os
import pathlib
import subprocess
import sys
import threading
import time
import urllib.request

import redis

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))

from endpoint import Close, Endpoint, Reset, response
from ports import Reserved
from harness import contains, equal, refuses, run, wait_until


def answers(*list_of_answers):
    """Answers in turn, and with the last one for ever."""
    left = list(list_of_answers)
    lock = threading.Lock()

    def answer(_):
        with lock:
            bytes_ = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(bytes_, type) and issubclass(bytes_, Exception):
            raise bytes_
        return bytes_

    return answer


def begin(server, answer, *options, arguments=(), queues=("q",)):
    """Start, with an endpoint that answers so."""
    endpoint = Endpoint(answer)
    server.start("--databases", "4", *arguments)
    server.set("e", endpoint.url(), *options, queues=queues)
    return endpoint


# ---- requests ----

def a_job_is_posted_and_the_answer_is_its_result(server):
    endpoint = begin(server, answers(response(200, b'{"sent":1}')))
    server.put("j1", '{"to":  "ann"}')
    wait_until(lambda: server.state("j1") == "complete")
    equal('{"sent":1}', server.job("j1")["result"])
    (request,) = endpoint.requests
    equal("/job", request.path)
    equal(b'{"id":"j1","class":"Send","data":{"to":  "ann"},"queue":"q","attempt":1}', request.body)
    equal("application/json", request.headers["content-type"])
    contains("qlessd/", request.headers["user-agent"])
    equal("j1", request.headers["x-qlessd-jid"])
    equal("1", request.headers["x-qlessd-attempt"])
    equal(None, request.headers.get("x-qlessd-signature"))
    equal("push:e", server.job("j1")["history"][1]["worker"])


def a_list_is_posted_as_arguments(server):
    endpoint = begin(server, answers(response(204)))
    server.put("j1", '[1, "two"]')
    wait_until(lambda: server.state("j1") == "complete")
    equal([1, "two"], endpoint.requests[0].json["args"])
    equal(False, "data" in endpoint.requests[0].json)
    equal(None, server.job("j1").get("result"))


def a_request_is_signed(server):
    endpoint = begin(server, answers(response(200)), "SECRET", "s3\xe4cret", "HEADER", "X-A", "b c",
                     "HEADER", "Authorization", "Bearer t")
    server.put("j1")
    wait_until(lambda: server.state("j1") == "complete")
    (request,) = endpoint.requests
    mac = hmac.new("s3\xe4cret".encode(), request.body, hashlib.sha256).hexdigest()
    equal("sha256=" + mac, request.headers["x-qlessd-signature"])
    equal("b c", request.headers["x-a"])
    equal("Bearer t", request.headers["authorization"])


def a_jid_cannot_break_a_header(server):
    endpoint = begin(server, answers(response(200)))
    jid = "a\r\nX-Evil: 1 %\u00e4"
    server.put(jid)
    wait_until(lambda: server.state(jid) == "complete")
    (request,) = endpoint.requests
    equal("a%0D%0AX-Evil:%201%20%25%C3%A4", request.headers["x-qlessd-jid"])
    equal(None, request.headers.get("x-evil"))
    equal(jid, request.json["id"])


def connections_are_kept_alive(server):
    endpoint = begin(server, answers(response(200)), "CONCURRENCY", 1)
    for i in range(50):
        server.put(f"j{i}")
    wait_until(lambda: server.status("e")["completed"] == 50)
    equal(50, len(endpoint.requests))
    equal(1, endpoint.connections)


def data_that_is_no_json_fails_in_the_group_invalid(server):
    endpoint = begin(server, answers(response(200)))
    server.put("j1", b"\x00\xff", options=("raw",))
    wait_until(lambda: server.state("j1") == "failed")
    equal("invalid", server.job("j1")["failure"]["group"])
    equal([], endpoint.requests)
    equal(base64.b64encode(b"\x00\xff").decode(), json.loads(server.job("j1")["data"])["base64"])


def databases_have_endpoints_of_their_own(server):
    endpoint = begin(server, answers(response(200)))
    other = redis.Redis(unix_socket_path=server.socket, db=3)
    other.execute_command("ENDPOINT.SET", "e", "URL", endpoint.url("/three"), "QUEUES", 1, "q")
    other.execute_command("PUT", "w", "q", "j3", "Send", "{}", 0)
    wait_until(lambda: b"complete" in other.execute_command("GET", "j3"))
    equal(["/three"], [request.path for request in endpoint.requests])
    other.execute_command("FLUSHDB")
    equal(None, other.execute_command("ENDPOINT.GET", "e"))
    server.put("j1")
    wait_until(lambda: server.state("j1") == "complete")
    other.execute_command("PUT", "w", "q", "j4", "Send", "{}", 0)
    server.put("j2")
    wait_until(lambda: server.state("j2") == "complete")
    contains(b"waiting", other.execute_command("GET", "j4"))


# ---- outcomes ----

def each_status_has_its_outcome(server):
    """One endpoint for each status: a job is completed, retried or failed."""
    statuses = {200: "complete", 201: "complete", 299: "complete", 300: "failed", 301: "failed",
                307: "failed", 400: "failed", 401: "failed", 404: "failed", 408: "retry",
                409: "failed", 410: "failed", 422: "failed", 425: "retry", 429: "retry",
                499: "failed", 500: "retry", 502: "retry", 503: "retry", 504: "retry"}

    def answer(request):
        status = int(request.path[1:])
        return response(status, b"because", ["Location: http://127.0.0.1:1/"])

    endpoint = Endpoint(answer)
    server.start()
    for status in statuses:
        server.set(f"e{status}", endpoint.url(f"/{status}"), queues=(f"q{status}",))
        server.put(f"j{status}", queue=f"q{status}",
                   options=("retries", 3, "backoff", "fixed", 1000, 1000))
        server.put(f"last{status}", queue=f"q{status}", options=("retries", 0))
    for status, outcome in statuses.items():
        if outcome == "complete":
            wait_until(lambda: server.state(f"j{status}") == "complete")
            equal("because", server.job(f"j{status}")["result"])
            continue
        wait_until(lambda: server.state(f"j{status}") in ("failed", "scheduled"))
        job = server.job(f"j{status}")
        equal(f"http-{status}", job["failure"]["group"])
        equal(f"The endpoint answered {status}: because", job["failure"]["message"])
        equal("failed" if outcome == "failed" else "scheduled", job["state"])
        equal(3 if outcome == "failed" else 2, job["remaining"])
        if outcome == "failed":
            equal("because", job["error"])
        wait_until(lambda: server.state(f"last{status}") == "failed")
        equal(f"http-{status}", server.job(f"last{status}")["failure"]["group"])
    equal({0}, {request.json["attempt"] - 1 for request in endpoint.requests})


def lost_connections_are_retried(server):
    endpoint = Endpoint(answers(Reset, Close, [b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"],
                                [b""], response(200)))
    server.start()
    server.set("e", endpoint.url(), "CONCURRENCY", 1)
    server.put("j1", options=("retries", 9, "backoff", "fixed", 0.001, 0.001))
    wait_until(lambda: server.state("j1") == "complete")
    equal(4, server.status("e")["retried"])


def an_endpoint_that_nobody_listens_on_fails_the_last_retry(server):
    endpoint = Endpoint(answers(response(200)))
    url = endpoint.url()
    endpoint.close()
    server.start()
    server.set("e", url)
    server.put("j1", options=("retries", 0))
    wait_until(lambda: server.state("j1") == "failed")
    equal("http-lost", server.job("j1")["failure"]["group"])


def an_answer_that_takes_too_long_is_none(server):
    release = threading.Event()

    def answer(_):
        release.wait(100)
        return response(200)

    begin(server, answer, "TIMEOUT", "0.2")
    server.put("j1", options=("retries", 0))
    wait_until(lambda: server.state("j1") == "failed")
    equal("http-timeout", server.job("j1")["failure"]["group"])
    release.set()


def the_backoff_of_the_job_decides_about_a_retry(server):
    begin(server, answers(response(500)))
    server.put("j1", options=("backoff", "fixed", 1000, 1000))
    wait_until(lambda: server.state("j1") == "scheduled")
    ((_, due),) = server.db.zrange("ql:q:q-scheduled", 0, -1, withscores=True)
    equal(True, 600 < due - time.time() <= 1000)


def retry_after_is_honoured_and_bounded(server):
    date = email.utils.formatdate(time.time() + 1000, usegmt=True)
    seconds = {"/number": "1000", "/date": date, "/long": "999999999999"}
    endpoint = Endpoint(lambda request: response(500, headers=["Retry-After: " +
                                                              seconds[request.path]]))
    server.start("--push-max-retry-after", "2000")
    for path in seconds:
        server.set(path[1:], endpoint.url(path), queues=(path[1:],))
        server.put("j" + path, queue=path[1:])
        wait_until(lambda: server.state("j" + path) == "scheduled")

    def delay(path):
        ((_, due),) = server.db.zrange(f"ql:q:{path}-scheduled", 0, -1, withscores=True)
        return due - time.time()

    equal(True, 600 < delay("number") <= 1000)
    equal(True, 600 < delay("date") <= 1001)
    equal(True, 1600 < delay("long") <= 2000)


def an_endpoint_that_asks_for_a_pause_gets_no_other_job(server):
    endpoint = begin(server, answers(response(503, headers=["Retry-After: 1000"]), response(200)))
    server.put("j1")
    wait_until(lambda: server.status("e")["state"] == "open")
    equal(True, server.status("e")["opens"] is not None)
    server.put("j2")
    equal(1, server.figure("push_endpoints_open"))
    equal("waiting", server.state("j2"))
    equal(1, len(endpoint.requests))


def retries_count_attempts(server):
    endpoint = begin(server, answers(response(500), response(500), response(200)),
                     arguments=("--push-circuit-failures", "100"))
    server.put("j1", options=("backoff", "fixed", 0.001, 0.001))
    wait_until(lambda: server.state("j1") == "complete")
    equal([1, 2, 3], [request.json["attempt"] for request in endpoint.requests])
    equal(["1", "2", "3"], [request.headers["x-qlessd-attempt"] for request in endpoint.requests])
    status = server.status("e")
    equal((3, 1, 2, 0), (status["sent"], status["completed"], status["retried"], status["failed"]))


# ---- concurrency and locks ----

def an_endpoint_of_a_class_takes_no_other_jobs(server):
    endpoint = begin(server, answers(response(200)), "CLASS", "Send")
    for i in range(20):
        server.put(f"o{i}", klass="Other")
        server.put(f"s{i}")
    wait_until(lambda: server.status("e")["completed"] == 20)
    equal({"Send"}, {request.json["class"] for request in endpoint.requests})
    equal("waiting", server.state("o0"))
    equal("Send", server.status("e")["class"])
    # Others take the rest, and a job that comes later finds the endpoint.
    taken = json.loads(server.call("MPOP", "w", 1, "q", "COUNT", 30))
    equal([f"o{i}" for i in range(20)], [job["jid"] for job in taken])
    server.put("s20")
    wait_until(lambda: server.state("s20") == "complete")


def an_endpoint_of_a_class_outlasts_a_restart(server):
    endpoint = begin(server, answers(response(200)), "CLASS", "Send")
    server.put("o", klass="Other")
    server.kill()
    server.start()
    server.put("s")
    wait_until(lambda: server.state("s") == "complete")
    equal("waiting", server.state("o"))
    # Without a class, the endpoint takes all jobs.
    server.set("e", endpoint.url())
    wait_until(lambda: server.state("o") == "complete")


def concurrency_is_exact(server):
    """All requests that may run do run together, and never one more."""
    gate = threading.Semaphore(0)

    def answer(_):
        gate.acquire()
        return response(200)

    endpoint = begin(server, answer, "CONCURRENCY", 7, "TIMEOUT", 0)
    for i in range(40):
        server.put(f"j{i}")
    wait_until(lambda: endpoint.running == 7)
    equal(7, server.status("e")["running"])
    for done in range(1, 34):
        gate.release()
        wait_until(lambda: server.status("e")["completed"] == done)
        wait_until(lambda: endpoint.running == 7)
    for _ in range(7):
        gate.release()
    wait_until(lambda: server.status("e")["completed"] == 40)
    equal(7, endpoint.most_running)
    equal(40, len(endpoint.requests))


def new_settings_count_from_the_next_job_on(server):
    gate = threading.Semaphore(0)

    def answer(request):
        gate.acquire()
        return response(200, request.path.encode())

    endpoint = begin(server, answer, "CONCURRENCY", 2)
    for i in range(6):
        server.put(f"j{i}")
    wait_until(lambda: endpoint.running == 2)
    server.set("e", endpoint.url("/new"), "CONCURRENCY", 4)
    wait_until(lambda: endpoint.running == 4)
    server.set("e", endpoint.url("/new"), "CONCURRENCY", 1, queues=("other", "q"))
    for _ in range(6):
        gate.release()
    wait_until(lambda: server.status("e")["completed"] == 6)
    equal(4, endpoint.most_running)
    equal(2, sum(request.path == "/job" for request in endpoint.requests))
    gate.release()
    server.put("k", queue="other")
    wait_until(lambda: server.state("k") == "complete")


def a_paused_endpoint_gets_no_jobs(server):
    endpoint = begin(server, answers(response(200)))
    equal(1, server.call("ENDPOINT.PAUSE", "e"))
    equal(0, server.call("ENDPOINT.PAUSE", "e"))
    server.put("j1")
    server.set("e", endpoint.url())
    equal(1, server.status("e")["paused"])
    # A worker that waits gets the job, which no paused endpoint takes from it.
    contains(b'"j1"', server.call("BPOP", 5, "w", 1, "q"))
    server.put("j2")
    equal("waiting", server.state("j2"))
    equal([], endpoint.requests)
    equal(1, server.call("ENDPOINT.UNPAUSE", "e"))
    wait_until(lambda: server.state("j2") == "complete")
    equal(0, server.call("ENDPOINT.UNPAUSE", "e"))


def a_deleted_endpoint_ends_its_requests_and_gets_no_others(server):
    gate = threading.Semaphore(0)

    def answer(_):
        gate.acquire()
        return response(200)

    endpoint = begin(server, answer, "CONCURRENCY", 1)
    server.put("j1")
    server.put("j2")
    wait_until(lambda: endpoint.running == 1)
    equal(1, server.call("ENDPOINT.DELETE", "e"))
    equal(0, server.call("ENDPOINT.DELETE", "e"))
    equal(None, server.call("ENDPOINT.GET", "e"))
    gate.release()
    gate.release()
    wait_until(lambda: server.state("j1") == "complete")
    wait_until(lambda: server.figure("push_endpoints") == 0)
    equal("waiting", server.state("j2"))
    equal(1, server.figure("push_completed"))


def a_lock_is_renewed_while_a_request_is_under_way(server):
    gate = threading.Semaphore(0)

    def answer(_):
        gate.acquire()
        return response(200)

    endpoint = Endpoint(answer)
    server.start()
    server.call("CONFIG.SET", "heartbeat", 6)
    server.set("e", endpoint.url(), "TIMEOUT", 0)
    server.put("j1")
    wait_until(lambda: endpoint.running == 1)
    first = server.job("j1")["expires"]
    wait_until(lambda: server.job("j1")["expires"] > first + 2)
    equal(None, server.call("BPOP", 0.01, "thief", 1, "q"))
    gate.release()
    wait_until(lambda: server.state("j1") == "complete")
    equal(1, len(endpoint.requests))


def a_request_is_given_up_when_the_lock_is_lost(server):
    release = threading.Event()

    def answer(_):
        release.wait(100)
        return response(200)

    endpoint = Endpoint(answer)
    server.start()
    server.call("CONFIG.SET", "heartbeat", 1)
    server.set("e", endpoint.url(), "TIMEOUT", 0, "CONCURRENCY", 1)
    server.put("j1")
    wait_until(lambda: endpoint.running == 1)
    server.call("CANCEL", "j1")
    wait_until(lambda: server.status("e")["running"] == 0)
    release.set()
    server.put("j2")
    wait_until(lambda: server.state("j2") == "complete")


def an_answer_that_comes_after_the_lock_was_lost_changes_nothing(server):
    gate = threading.Semaphore(0)

    def answer(_):
        gate.acquire()
        return response(200, b"late")

    endpoint = begin(server, answer)
    server.put("j1")
    wait_until(lambda: endpoint.running == 1)
    server.call("ENDPOINT.PAUSE", "e")
    server.call("TIMEOUT", "j1")
    contains(b'"j1"', server.call("POP", "q", "push:e", 1))
    gate.release()
    wait_until(lambda: server.status("e")["running"] == 0)
    equal("running", server.state("j1"))
    equal(0, server.status("e")["completed"])


def jobs_under_way_come_back_after_a_crash(server):
    gate = threading.Semaphore(0)
    is_over = []

    def answer(request):
        if not is_over:
            gate.acquire()
        return response(200, str(request.json["attempt"]).encode())

    endpoint = Endpoint(answer)
    server.start("--appendfsync", "always")
    server.call("CONFIG.SET", "heartbeat", 5)
    server.call("CONFIG.SET", "grace-period", 0)
    server.set("e", endpoint.url(), "CONCURRENCY", 5, "SECRET", "x")
    server.call("ENDPOINT.SET", "paused", "URL", endpoint.url(), "QUEUES", 1, "none")
    server.call("ENDPOINT.PAUSE", "paused")
    for i in range(20):
        server.put(f"j{i}")
    wait_until(lambda: endpoint.running == 5)
    server.kill()
    is_over.append(True)
    for _ in range(5):
        gate.release()
    server.start()
    wait_until(lambda: server.status("e")["completed"] == 20)
    results = sorted(server.job(f"j{i}")["result"] for i in range(20))
    equal(["1"] * 15 + ["2"] * 5, results)
    equal(1, server.status("e")["signed"])
    equal(1, server.status("paused")["paused"])
    # A snapshot has the endpoints, too.
    server.call("BGREWRITEAOF")
    server.db.set_response_callback("INFO", lambda reply, **_: reply)
    wait_until(lambda: b"aof_rewrite_in_progress:0" in server.call("INFO", "persistence"))
    server.stop()
    server.start()
    equal(1, server.status("paused")["paused"])
    equal("5", str(server.status("e")["concurrency"]))
    server.put("last")
    wait_until(lambda: server.state("last") == "complete")


# ---- an endpoint in trouble ----

def an_endpoint_that_fails_is_left_alone(server):
    endpoint = begin(server, answers(*[response(500)] * 4, response(200)), "CONCURRENCY", 1,
                     arguments=("--push-circuit-failures", "3", "--push-circuit-pause", "1"))
    for i in range(6):
        server.put(f"j{i}", options=("backoff", "fixed", 0.001, 0.001))
    wait_until(lambda: server.status("e")["state"] == "open")
    equal(True, server.status("e")["failures"] >= 3)
    equal(True, len(endpoint.requests) <= 4)
    # The probe fails, too, and a second pause follows. Then all jobs go.
    wait_until(lambda: server.status("e")["completed"] == 6)
    equal("closed", server.status("e")["state"])
    equal(0, server.status("e")["failures"])
    equal(10, len(endpoint.requests))


# ---- hostile answers ----

def endless_headers_are_no_answer(server):
    def endless():
        yield b"HTTP/1.1 200 OK\r\n"
        while True:
            yield b"X-Filler: " + b"x" * 1000 + b"\r\n"

    begin(server, lambda _: endless(), "TIMEOUT", 0)
    server.put("j1", options=("retries", 0))
    wait_until(lambda: server.state("j1") == "failed")
    equal("http-lost", server.job("j1")["failure"]["group"])
    contains("headers", server.job("j1")["failure"]["message"])


def an_endless_header_is_no_answer(server):
    def endless():
        yield b"HTTP/1.1 200 OK\r\nX-Filler: "
        while True:
            yield b"x" * 1000

    begin(server, lambda _: endless(), "TIMEOUT", 0)
    server.put("j1", options=("retries", 0))
    wait_until(lambda: server.state("j1") == "failed")
    equal("http-lost", server.job("j1")["failure"]["group"])


def an_endless_body_is_cut(server):
    def endless():
        yield b"HTTP/1.1 200 OK\r\n\r\n"
        while True:
            yield b"x" * 1000

    begin(server, lambda _: endless(), "TIMEOUT", 0, arguments=("--push-max-response-size", "5kb"))
    server.put("j1")
    wait_until(lambda: server.state("j1") == "complete")
    equal("x" * 5120, server.job("j1")["result"])


def a_transfer_encoding_other_than_chunks_is_no_answer(server):
    """libcurl would decode each layer, and each could make the body a thousand times as large."""
    bytes_ = gzip.compress(gzip.compress(bytes(1 << 20)))
    codings = (b"gzip, gzip", b"gzip, chunked", b"chunked, gzip", b"deflate")
    begin(server, answers(*[
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: %b\r\n\r\n%x\r\n%b\r\n0\r\n\r\n"
        % (coding, len(bytes_), bytes_) for coding in codings]))
    for coding in codings:
        jid = coding.decode()
        server.put(jid, options=("retries", 0))
        wait_until(lambda: server.state(jid) in ("failed", "complete"))
        equal("failed", server.state(jid))
        equal("http-lost", server.job(jid)["failure"]["group"])
        # New versions of libcurl refuse it themselves.
        contains("Transfer-Encoding", server.job(jid)["failure"]["message"])


def an_answer_may_come_in_chunks(server):
    codings = (b"chunked", b" Chunked \t")
    begin(server, answers(*[
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding:%b\r\n\r\n3\r\nyes\r\n0\r\n\r\n" % coding
        for coding in codings]))
    for number in range(len(codings)):
        server.put(f"j{number}")
        wait_until(lambda: server.state(f"j{number}") == "complete")
        equal("yes", server.job(f"j{number}")["result"])


def a_body_that_is_no_text_is_made_one(server):
    begin(server, answers(response(200, b"a\xff\x00b")))
    server.put("j1")
    wait_until(lambda: server.state("j1") == "complete")
    equal("a\ufffd\x00b", server.job("j1")["result"])


def garbage_is_no_answer(server):
    garbage = {
        "/text": b"hello\r\n\r\n",
        "/old": b"<html>no headers</html>",
        "/version": b"HTTP/9.9 200 OK\r\nContent-Length: 0\r\n\r\n",
        "/status": b"HTTP/1.1 2x0 OK\r\nContent-Length: 0\r\n\r\n",
        "/length": b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nabc",
        "/lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 7\r\n\r\nabcde",
        "/chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n",
        "/huge": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"f" * 40 + b"\r\nabc",
        "/nul": b"HTTP/1.1 200 OK\r\n\0\0\0: x\r\nContent-Length: 1\r\n",
        "/empty": b"\r\n" * 2000,
        "/short": b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc",
    }
    endpoint = Endpoint(lambda request: [garbage[request.path]])
    server.start()
    for path in garbage:
        server.set(path[1:], endpoint.url(path), queues=(path[1:],))
        server.put("j" + path, queue=path[1:], options=("retries", 0))
    for path in garbage:
        wait_until(lambda: server.state("j" + path) == "failed")
        equal((path, "http-lost"), (path, server.job("j" + path)["failure"]["group"]))


def an_interim_answer_does_not_count(server):
    begin(server, answers(b"HTTP/1.1 102 Processing\r\nRetry-After: 7\r\n\r\n" * 3 +
                          response(200, b"ok")))
    server.put("j1")
    wait_until(lambda: server.state("j1") == "complete")
    equal("ok", server.job("j1")["result"])


# ---- commands ----

def wrong_arguments_are_refused_and_change_nothing(server):
    server.start("--max-endpoints", "2", "--max-endpoint-headers", "2", "--max-endpoint-size", "1kb",
                 "--max-endpoint-concurrency", "50", "--push-allow", "127.0.0.0/8",
                 "*.example.org")
    good = ["URL", "http://127.0.0.1:1/", "QUEUES", "1", "q"]
    for part, words in (
            ("expected: ENDPOINT.SET", []),
            ('"URL" is missing', ["QUEUES", "1", "q", "TIMEOUT", "1"]),
            ('"QUEUES" is missing', ["URL", "http://127.0.0.1/", "TIMEOUT", "1", "SECRET", "s"]),
            ('Unknown option "QUEUE"', [*good, "QUEUE", "1"]),
            ('"timeout" is repeated', [*good, "TIMEOUT", "1", "timeout", "2"]),
            ('"TIMEOUT" has no value', [*good, "TIMEOUT"]),
            ("needs a name and a value", [*good, "HEADER", "X-A"]),
            ("whole number above 0", ["URL", "http://127.0.0.1/", "QUEUES", "0", "q"]),
            ("but 1 arguments follow", ["URL", "http://127.0.0.1/", "QUEUES", "2", "q"]),
            ("queue must not be empty", ["URL", "http://127.0.0.1/", "QUEUES", "1", ""]),
            ('The queue "q" is repeated', ["URL", "http://127.0.0.1/", "QUEUES", "2", "q", "q"]),
            ("does not begin with http://", ["URL", "ftp://127.0.0.1/", "QUEUES", "1", "q"]),
            ("push-allow", ["URL", "http://10.0.0.1/", "QUEUES", "1", "q"]),
            ("class must not be empty", [*good, "CLASS", ""]),
            ("class is not UTF-8", [*good, "CLASS", b"\xff"]),
            ("max-name-length", [*good, "CLASS", "x" * 1100]),
            ('"CLASS" has no value', [*good, "CLASS"]),
            ('"class" is repeated', [*good, "CLASS", "a", "class", "a"]),
            ("CONCURRENCY must be", [*good, "CONCURRENCY", "0"]),
            ("max-endpoint-concurrency", [*good, "CONCURRENCY", "51"]),
            ("TIMEOUT must be", [*good, "TIMEOUT", "-1"]),
            ("TIMEOUT must be", [*good, "TIMEOUT", "inf"]),
            ("belongs to the connection", [*good, "HEADER", "Connection", "close"]),
            ("is set by the server", [*good, "HEADER", "Host", "a"]),
            ("has a control character", [*good, "HEADER", "X-A", "b\r\nX-B: c"]),
            ("is not the name of a header", [*good, "HEADER", "X A", "b"]),
            ('"x-a" is repeated', [*good, "HEADER", "X-A", "b", "HEADER", "x-a", "b"]),
            ("max-endpoint-headers", [*good, "HEADER", "A", "1", "HEADER", "B", "1", "HEADER", "C",
                                      "1"]),
            ("SECRET must not be empty", [*good, "SECRET", ""]),
            ("max-endpoint-size", [*good, "SECRET", "x" * 1000])):
        refuses(part, server.call, "ENDPOINT.SET", "e", *words)
    refuses("name must not be empty", server.call, "ENDPOINT.SET", "", *good)
    refuses("max-name-length", server.call, "ENDPOINT.SET", "x" * 1020, *good)
    equal([], server.call("ENDPOINT.LIST"))
    server.call("ENDPOINT.SET", "a", *good)
    server.call("ENDPOINT.SET", "b", "URL", "http://x.example.org/", "QUEUES", "1", "q")
    refuses("max-endpoints", server.call, "ENDPOINT.SET", "c", *good)
    server.call("ENDPOINT.SET", "b", *good)
    equal([b"a", b"b"], [endpoint[1] for endpoint in server.call("ENDPOINT.LIST")])
    equal(None, server.call("ENDPOINT.PAUSE", "none"))
    equal(None, server.call("ENDPOINT.TEST", "none"))


def secrets_are_never_shown(server):
    endpoint = Endpoint(answers(response(200)))
    path = "/path?token=s3cr3t&s3cr3t"
    server.start("--slowlog-log-slower-than", "0")
    monitor = redis.Redis(unix_socket_path=server.socket)
    with monitor.monitor() as lines:
        server.set("e", endpoint.url(path), "SECRET", "s3cr3t", "HEADER", "Authorization",
                   "Bearer s3cr3t", "HEADER", "X-Env", "prod")
        server.call("ECHO", "end")
        seen = ""
        while "end" not in seen:
            seen += lines.next_command()["command"] + "\n"
    text = seen + repr(server.call("SLOWLOG", "GET", "-1")) + repr(server.call("ENDPOINT.GET", "e"))
    text += repr(server.call("ENDPOINT.LIST")) + server.logged()
    try:
        server.set("f", "https://user:s3cr3t@127.0.0.1/")
    except redis.ResponseError as error:
        contains("has a user", str(error))
        text += str(error)
    server.stop()
    server.start()
    text += repr(server.call("ENDPOINT.GET", "e")) + server.logged()
    contains("prod", text)
    contains("/path?token=(redacted)&(redacted)", text)
    contains("https://(redacted)@127.0.0.1/", text)
    equal(False, "s3cr3t" in text)
    # The service gets all of it.
    server.put("j", "{}")
    wait_until(lambda: server.state("j") == "complete")
    equal(path, endpoint.requests[0].path)
    equal("Bearer s3cr3t", endpoint.requests[0].headers["authorization"])


def permissions_of_queues_count(server):
    server.start()
    for words in ("ann on >a ~mail* +@all", "bob on >b %R~mail* +@all", "worker on >w +@worker",
                  "op on >o +@operator"):
        server.call("ACL", "SETUSER", *words.split())
    url = "http://127.0.0.1:1/"
    users = {name: redis.Redis(unix_socket_path=server.socket, username=name, password=name[0])
             for name in ("ann", "bob", "worker", "op")}

    def set_as(user, name, *queues):
        return users[user].execute_command("ENDPOINT.SET", name, "URL", url, "QUEUES", len(queues),
                                           *queues)

    set_as("ann", "mine", "mail1", "mail2")
    refuses("No permissions", set_as, "ann", "other", "mail1", "bank")
    refuses("No permissions", set_as, "bob", "other", "mail1")
    refuses("no permissions", set_as, "worker", "other", "mail1")
    set_as("op", "all", "bank", "mail1")
    for words in (("SET", "all", "URL", url, "QUEUES", 1, "mail1"), ("DELETE", "all"),
                  ("PAUSE", "all"), ("UNPAUSE", "all"), ("TEST", "all")):
        refuses("No permissions", users["ann"].execute_command, "ENDPOINT." + words[0], *words[1:])
    equal(None, users["ann"].execute_command("ENDPOINT.GET", "all"))
    equal([b"mine"], [e[1] for e in users["ann"].execute_command("ENDPOINT.LIST")])
    equal(b"mine", users["bob"].execute_command("ENDPOINT.GET", "mine")[1])
    refuses("No permissions", users["bob"].execute_command, "ENDPOINT.DELETE", "mine")
    equal(1, users["ann"].execute_command("ENDPOINT.DELETE", "mine"))
    equal(["bank", "mail1"],
          server.call("COMMAND GETKEYS", "ENDPOINT.SET", "x", "URL", url, "QUEUES", 2, "bank",
                      "mail1"))


def a_test_tells_how_the_endpoint_answers(server):
    release = threading.Event()

    def answer(request):
        if request.path == "/slow":
            release.wait(100)
        return response(418)

    endpoint = Endpoint(answer)
    server.start()
    server.set("e", endpoint.url(), "SECRET", "s")
    server.set("slow", endpoint.url("/slow"), "TIMEOUT", "0.1")
    reply = server.call("ENDPOINT.TEST", "e")
    equal([b"status", 418, b"milliseconds"], reply[:3])
    equal([b"error", None], reply[4:])
    (request,) = endpoint.requests
    equal({"test": True, "endpoint": "e"}, request.json)
    equal("1", request.headers["x-qlessd-test"])
    contains("sha256=", request.headers["x-qlessd-signature"])
    reply = server.call("ENDPOINT.TEST", "slow")
    equal(None, reply[1])
    contains(b"imed out", reply[5])
    equal(0, server.figure("push_sent"))
    release.set()
    # A client that leaves ends its test.
    release.clear()
    server.set("slow", endpoint.url("/slow"), "TIMEOUT", 0)
    leaver = redis.connection.UnixDomainSocketConnection(path=server.socket)
    leaver.connect()
    leaver.send_command("ENDPOINT.TEST", "slow")
    wait_until(lambda: endpoint.running == 1)
    leaver.disconnect()
    equal(True, server.db.ping())
    release.set()


def only_allowed_addresses_are_reached(server):
    endpoint = Endpoint(answers(response(200)))
    server.start()
    server.set("e", endpoint.url())
    server.put("j1")
    wait_until(lambda: server.state("j1") == "complete")
    refuses("networks", server.db.config_set, "push-allow", "* 10.0.0.0/33")
    server.db.config_set("push-allow", "10.0.0.0/8")
    server.put("j2", options=("retries", 0))
    wait_until(lambda: server.state("j2") == "failed")
    contains("push-allow", server.job("j2")["failure"]["message"])
    equal(1, len(endpoint.requests))


def a_proxy_gets_the_requests(server):
    proxy = Endpoint(answers(response(200, b"proxied")))
    server.start("--push-proxy", proxy.url(""))
    server.set("e", "http://nowhere.invalid/x")
    server.put("j1")
    wait_until(lambda: server.state("j1") == "complete")
    equal("http://nowhere.invalid/x", proxy.requests[0].path)


def the_log_tells_of_endpoints_without_their_secrets(server):
    server.start()
    server.set("e", "http://127.0.0.1:1/", "SECRET", "s3cr3t", "HEADER", "X-Token", "s3cr3t")
    server.put("j1", queue="other")
    server.call("ENDPOINT.PAUSE", "e")
    server.stop()

    def check(*arguments):
        return subprocess.run([os.environ["QLESSD_CHECK"], *arguments, server.directory], check=True,
                              capture_output=True, text=True).stdout

    contains("1 endpoints", check())
    dump = check("--dump")
    contains('endpoint-set name="e"', dump)
    contains('endpoint-pause name="e" paused', dump)
    equal(False, "s3cr3t" in dump)


def metrics_show_each_endpoint(server):
    reserved = Reserved()
    endpoint = begin(server, answers(response(200)), arguments=("--http-port", str(reserved.port)))
    server.put("j1")
    server.put("j2")
    wait_until(lambda: server.status("e")["completed"] == 2)
    endpoint.close()
    server.call("CONFIG", "SET", "push-circuit-failures", 1)
    server.put("j3")
    wait_until(lambda: server.status("e")["state"] == "open")
    url = f"http://127.0.0.1:{reserved.port}/metrics"
    with urllib.request.urlopen(url, timeout=100) as page:
        text = page.read().decode()
    reserved.close()
    for sample in ("open{endpoint=\"e\",db=\"0\"} 1", "completed_total{endpoint=\"e\",db=\"0\"} 2",
                   "sent_total{endpoint=\"e\",db=\"0\"} 3"):
        contains("qlessd_endpoint_" + sample, text)


def a_server_without_endpoints_does_not_load_libcurl(server):
    server.start()

    def is_loaded():
        with open(f"/proc/{server.process.pid}/maps", encoding="utf-8") as maps:
            return "libcurl" in maps.read()

    server.put("j1")
    equal(False, is_loaded())
    server.set("e", "http://127.0.0.1:1/", queues=("other",))
    equal(True, is_loaded())


run([
    a_job_is_posted_and_the_answer_is_its_result,
    a_list_is_posted_as_arguments,
    a_request_is_signed,
    a_jid_cannot_break_a_header,
    connections_are_kept_alive,
    data_that_is_no_json_fails_in_the_group_invalid,
    databases_have_endpoints_of_their_own,
    each_status_has_its_outcome,
    lost_connections_are_retried,
    an_endpoint_that_nobody_listens_on_fails_the_last_retry,
    an_answer_that_takes_too_long_is_none,
    the_backoff_of_the_job_decides_about_a_retry,
    retry_after_is_honoured_and_bounded,
    an_endpoint_that_asks_for_a_pause_gets_no_other_job,
    retries_count_attempts,
    an_endpoint_of_a_class_takes_no_other_jobs,
    an_endpoint_of_a_class_outlasts_a_restart,
    concurrency_is_exact,
    new_settings_count_from_the_next_job_on,
    a_paused_endpoint_gets_no_jobs,
    a_deleted_endpoint_ends_its_requests_and_gets_no_others,
    a_lock_is_renewed_while_a_request_is_under_way,
    a_request_is_given_up_when_the_lock_is_lost,
    an_answer_that_comes_after_the_lock_was_lost_changes_nothing,
    jobs_under_way_come_back_after_a_crash,
    an_endpoint_that_fails_is_left_alone,
    endless_headers_are_no_answer,
    an_endless_header_is_no_answer,
    an_endless_body_is_cut,
    a_transfer_encoding_other_than_chunks_is_no_answer,
    an_answer_may_come_in_chunks,
    a_body_that_is_no_text_is_made_one,
    garbage_is_no_answer,
    an_interim_answer_does_not_count,
    wrong_arguments_are_refused_and_change_nothing,
    secrets_are_never_shown,
    permissions_of_queues_count,
    a_test_tells_how_the_endpoint_answers,
    only_allowed_addresses_are_reached,
    a_proxy_gets_the_requests,
    the_log_tells_of_endpoints_without_their_secrets,
    metrics_show_each_endpoint,
    a_server_without_endpoints_does_not_load_libcurl,
])
