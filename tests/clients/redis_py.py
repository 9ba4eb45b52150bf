"""redis-py, as the Python client of qless uses it, and what else it can do."""

import json
import os
import pathlib
import re
import signal
import socket
import ssl
import sys
import threading
import time
import traceback

import redis
import redis.backoff
import redis.retry

PORT = int(os.environ["QLESSD_PORT"])
TLS_PORT = int(os.environ["QLESSD_TLS_PORT"])
CERTIFICATES = pathlib.Path(os.environ["QLESSD_TLS_DIR"])
SCRIPT = pathlib.Path(__file__).with_name("qless.lua").read_text(encoding="utf-8")
REDIS_PY = tuple(int(part) for part in redis.__version__.split(".")[:2])

checks = []


def check(function):
    """The name of the function is the name of the case."""
    checks.append(function)
    return function


def connect(**options):
    return redis.Redis(host="127.0.0.1", port=PORT, decode_responses=True, **options)


def connect_tls(**options):
    return redis.Redis(port=TLS_PORT, host="127.0.0.1", decode_responses=True, ssl=True,
                       ssl_ca_certs=str(CERTIFICATES / "ca.crt"), **options)


def connect_tls_as_client(**options):
    return connect_tls(ssl_certfile=str(CERTIFICATES / "client.crt"),
                       ssl_keyfile=str(CERTIFICATES / "client.key"), **options)


class QlessException(Exception):
    """The error message of a script, without the text that Redis adds."""


class Qless:
    """The client of qless, but for its job and queue objects."""

    def __init__(self, client):
        self.redis = client
        self.script = client.register_script(SCRIPT)

    def __call__(self, command, *arguments):
        try:
            return self.script([], [command, repr(time.time()), *arguments])
        except redis.ResponseError as error:
            match = re.search(r"user_script:\d+:\s*(\w+.+$)", str(error))
            raise QlessException(match.group(1) if match else str(error)) from error

    def put(self, jid, **options):
        settings = [word for pair in options.items() for word in pair]
        return self("put", "w", "q", jid, "klass", json.dumps({"jid": jid}), 0, *settings)

    def pop(self, worker="w", count=1):
        return json.loads(self("pop", "q", worker, count)) or []

    def state(self, jid):
        return json.loads(self("get", jid))["state"]


def restart():
    """End the server, which is then started again, and wait for the new one."""
    with connect() as client:
        before = client.info("server")
        os.kill(before["process_id"], signal.SIGTERM)
        while True:
            try:
                if client.info("server")["run_id"] != before["run_id"]:
                    return
            except redis.ConnectionError:
                time.sleep(0.01)


def next_message(listener):
    """The next thing a subscriber hears, as (type, channel, data)."""
    message = listener.get_message(timeout=10)
    assert message is not None, "nothing was heard"
    return message["type"], message["channel"], message["data"]


def assert_raises(kind, text, function, *arguments):
    try:
        value = function(*arguments)
    except kind as error:
        assert text in str(error), f"{error} instead of {text}"
    else:
        raise AssertionError(f"{value!r} instead of an error")


@check
def the_version_in_info_is_recent_enough_for_qless(client):
    version = client.info()["redis_version"]
    assert [int(part) for part in version.split(".")] >= [2, 5, 5], version


@check
def a_connection_says_who_it_is(client):
    named = connect(client_name="worker-1")
    assert named.ping()
    assert named.client_getname() == "worker-1"
    assert "worker-1" in [other["name"] for other in client.client_list()]


@check
def a_url_selects_a_database(client):
    for database in (6, 11):
        other = redis.from_url(f"redis://127.0.0.1:{PORT}/{database}", decode_responses=True)
        assert other.ping()
        Qless(other).put("j")
        assert other.flushdb()
        assert other.keys("*") == []


@check
def a_user_needs_the_right_password(client):
    client.acl_setuser("worker", enabled=True, passwords=["+secret"], categories=["+@all"])
    assert connect(username="worker", password="secret").acl_whoami() == "worker"
    intruder = connect(username="worker", password="x")
    assert_raises(redis.RedisError, "invalid username-password pair", intruder.ping)
    client.acl_deluser("worker")


@check
def a_script_is_called_by_its_sha1_and_sent_when_it_is_not_known(client):
    qless = Qless(client)
    assert client.script_exists(qless.script.sha) == [False]
    assert qless("length", "q") == 0
    assert client.script_exists(qless.script.sha) == [True]
    assert client.script_flush()
    assert qless("length", "q") == 0


@check
def a_script_that_is_not_known_raises_its_own_kind_of_error(client):
    try:
        client.evalsha("0" * 40, 0)
    except redis.exceptions.NoScriptError as error:
        assert str(error) == "No matching script. Please use EVAL.", error
    else:
        raise AssertionError("no error")


@check
def a_job_is_popped_kept_and_completed(client):
    qless = Qless(client)
    assert qless.put("j", priority=5, tags='["a"]') == "j"
    (job,) = qless.pop()
    assert job["jid"] == "j" and job["state"] == "running" and job["worker"] == "w"
    assert json.loads(job["data"]) == {"jid": "j"}
    assert qless("heartbeat", "j", "w", job["data"]) > time.time()
    assert qless("complete", "j", "w", "q", job["data"]) == "complete"
    assert qless.state("j") == "complete"
    assert qless.pop() == []


@check
def a_job_is_failed_and_tried_again(client):
    qless = Qless(client)
    qless.put("failing")
    qless.put("retrying")
    qless.pop(count=2)
    assert qless("fail", "failing", "w", "group", "message", "{}") == "failing"
    assert qless.state("failing") == "failed"
    assert json.loads(qless("failed")) == {"group": 1}
    assert qless("retry", "retrying", "q", "w", 0) == 4
    assert [job["jid"] for job in qless.pop()] == ["retrying"]


@check
def the_text_of_an_error_is_cut_out_of_its_envelope(client):
    qless = Qless(client)
    assert_raises(QlessException, "Heartbeat(): Job none does not exist",
                  qless, "heartbeat", "none", "w", "{}")
    assert_raises(QlessException, "Unknown command nope", qless, "nope")


@check
def a_worker_hears_that_it_has_lost_a_lock(client):
    qless = Qless(client)
    qless.put("j")
    qless.pop("w1")
    with client.pubsub(ignore_subscribe_messages=True) as listener:
        listener.subscribe("ql:w:w1")
        assert listener.get_message(timeout=10) is None  # the confirmation
        qless("timeout", "j")
        kind, channel, data = next_message(listener)
        assert (kind, channel) == ("message", "ql:w:w1")
        assert json.loads(data) == {"jid": "j", "event": "lock_lost", "worker": "w1"}
    assert [job["worker"] for job in qless.pop("w2")] == ["w2"]
    assert_raises(QlessException, "Complete(): Job", qless, "complete", "j", "w1", "q", "{}")


@check
def a_worker_that_starts_again_finds_what_it_was_working_on(client):
    qless = Qless(client)
    qless.put("j")
    qless.pop("w1")
    assert json.loads(qless("workers", "w1")) == {"jobs": ["j"], "stalled": {}}
    (job,) = json.loads(qless("multiget", "j"))
    assert job["worker"] == "w1" and job["expires"] > time.time()
    assert qless("heartbeat", "j", "w1", job["data"]) >= int(job["expires"])
    assert json.loads(qless("workers", "nobody")) == {"jobs": {}, "stalled": {}}


@check
def a_lock_survives_a_restart_and_is_lost_no_earlier_than_it_expires(client):
    qless = Qless(client)
    qless("config.set", "heartbeat", 60)
    qless("config.set", "grace-period", 0)
    qless.put("kept")
    qless.put("lost")
    assert [job["jid"] for job in qless.pop("w1", 2)] == ["kept", "lost"]
    restart()
    with client.pubsub(ignore_subscribe_messages=True) as listener:
        listener.subscribe("ql:w:w1")
        assert listener.get_message(timeout=10) is None  # the confirmation
        assert qless.pop("w2", 2) == []
        assert qless("heartbeat", "kept", "w1", "{}") > time.time() + 50
        later = repr(time.time() + 61)
        jobs = json.loads(qless.script([], ["pop", later, "q", "w2", 1]))
        assert [job["jid"] for job in jobs] == ["lost"]
        _, _, data = next_message(listener)
        assert json.loads(data) == {"jid": "lost", "event": "lock_lost", "worker": "w1"}
    assert qless("complete", "kept", "w1", "q", "{}") == "complete"
    assert_raises(QlessException, "Complete(): Job", qless, "complete", "lost", "w1", "q", "{}")
    assert qless("complete", "lost", "w2", "q", "{}") == "complete"


@check
def a_child_that_was_forked_speaks_for_itself(client):
    qless = Qless(client)
    qless.put("j")
    child = os.fork()
    if child == 0:
        popped = Qless(connect()).pop("child")
        os._exit(0 if [job["jid"] for job in popped] == ["j"] else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert json.loads(qless("get", "j"))["worker"] == "child"


@check
def the_next_run_of_a_recurring_job_is_its_score(client):
    qless = Qless(client)
    before = time.time()
    qless("recur", "q", "r", "klass", "{}", "interval", 60, 10)
    assert before + 9 < client.zscore("ql:q:q-recur", "r") < time.time() + 11
    assert json.loads(qless("recur.get", "r"))["interval"] == 60
    assert client.zscore("ql:q:q-recur", "none") is None


@check
def what_a_fork_of_qless_adds_is_an_unknown_command(client):
    qless = Qless(client)
    for command in ("popByJid", "resource.set", "subscription", "paused"):
        assert_raises(QlessException, f"Unknown command {command}", qless, command, "x")


@check
def a_listener_ends_when_it_is_told_to_by_a_channel_of_its_own(client):
    with client.pubsub(ignore_subscribe_messages=True) as listener:
        listener.subscribe("ql:w:w1", "mine")
        heard = []

        def listen():
            for message in listener.listen():
                heard.append((message["channel"], message["data"]))
                if message["channel"] == "mine":
                    listener.unsubscribe("ql:w:w1", "mine")

        thread = threading.Thread(target=listen)
        thread.start()
        while client.publish("ql:w:w1", "event") != 1:
            time.sleep(0.01)
        while client.publish("mine", "end") != 1:
            time.sleep(0.01)
        thread.join(10)
        assert not thread.is_alive()
        assert heard == [("ql:w:w1", "event"), ("mine", "end")]
    assert client.publish("mine", "end") == 0


@check
def channels_and_patterns_are_heard_until_they_are_left(client):
    with client.pubsub() as listener:
        listener.subscribe("ql:log", "other")
        listener.psubscribe("ql:*")
        assert next_message(listener) == ("subscribe", "ql:log", 1)
        assert next_message(listener) == ("subscribe", "other", 2)
        assert next_message(listener) == ("psubscribe", "ql:*", 3)
        assert client.publish("ql:log", "text") == 2
        assert next_message(listener) == ("message", "ql:log", "text")
        assert next_message(listener) == ("pmessage", "ql:log", "text")
        assert client.pubsub_numsub("ql:log") == [("ql:log", 1)]
        assert listener.ping("still there") is None
        assert next_message(listener)[0] == "pong"
        listener.unsubscribe()
        listener.punsubscribe()
        assert {next_message(listener)[0] for _ in range(3)} == {"unsubscribe", "punsubscribe"}
        assert client.publish("ql:log", "text") == 0


@check
def a_job_counts_under_the_limits_that_it_names(client):
    assert client.execute_command("LIMIT.SET", "db", "CONCURRENCY", 1) == "OK"
    for queue, jid in (("in", "i"), ("out", "j")):
        client.execute_command("PUT", "me", queue, jid, "k", "{}", 0, "limits", '["db"]')
    assert [job["jid"] for job in json.loads(client.execute_command("POP", "in", "w", 5))] == ["i"]
    assert json.loads(client.execute_command("POP", "out", "w", 5)) == []
    assert json.loads(client.execute_command("GET", "j"))["limits"] == ["db"]
    newest = connect(protocol=3) if REDIS_PY >= (5, 0) else None
    if newest is not None:
        limit = newest.execute_command("LIMIT.GET", "db")
        assert (limit["state"], limit["running"], limit["waiting"]) == ("full", 1, 1), limit
        assert [holder["jid"] for holder in limit["holders"]] == ["i"], limit
        why = newest.execute_command("JOB.WHY", "j")
        assert (why["reason"], why["limit"], why["held-by"]) == ("limit", "db", "concurrency"), why
        cursor, limits = newest.execute_command("LIMIT.LIST")
        assert cursor == "0" and [limit["name"] for limit in limits] == ["db"]
    client.execute_command("COMPLETE", "i", "w", "in", "{}")
    assert [job["jid"] for job in json.loads(client.execute_command("POP", "out", "w", 5))] == ["j"]


def wait_until(condition):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def waiting(client):
    """The ids of the connections that wait for a job."""
    return [c["id"] for c in client.client_list() if c["cmd"] == "bpop" and "b" in c["flags"]]


@check
def a_worker_waits_for_a_job(client):
    replies = []

    def work():
        # Newer versions of the library send a command again by themselves.
        with connect(retry=redis.retry.Retry(redis.backoff.NoBackoff(), 0)) as worker:
            replies.append(worker.execute_command("BPOP", 0.01, "w", 1, "q"))
            replies.append(worker.execute_command("BPOP", 0, "w", 2, "p", "q", "COUNT", 2))
            replies.append(worker.execute_command("BPOP", 0, "w", 1, "q"))
            try:
                worker.execute_command("BPOP", 0, "w", 1, "q")
            except redis.ResponseError as error:
                replies.append(str(error))
            try:
                worker.execute_command("BPOP", 0, "w", 1, "q")
            except redis.ConnectionError:
                replies.append("lost")

    thread = threading.Thread(target=work)
    thread.start()
    wait_until(lambda: len(replies) == 1 and waiting(client))
    client.execute_command("PUT", "c", "q", "j", "klass", "{}", 0)
    wait_until(lambda: len(replies) == 2 and waiting(client))
    assert client.execute_command("CLIENT", "UNBLOCK", waiting(client)[0]) == 1
    wait_until(lambda: len(replies) == 3 and waiting(client))
    assert client.execute_command("CLIENT", "UNBLOCK", waiting(client)[0], "ERROR") == 1
    wait_until(lambda: len(replies) == 4 and waiting(client))
    restart()
    thread.join(30)
    assert replies[0] is None and replies[2] is None
    assert [job["jid"] for job in json.loads(replies[1])] == ["j"]
    assert replies[3] == "UNBLOCKED client unblocked via CLIENT UNBLOCK"
    assert replies[4] == "lost"


@check
def a_transaction_counts_the_jobs_of_a_queue(client):
    qless = Qless(client)
    for jid in ("a", "b", "c"):
        qless.put(jid)
    qless.pop()
    with client.pipeline() as transaction:
        transaction.zcard("ql:q:q-locks")
        transaction.zcard("ql:q:q-work")
        transaction.zcard("ql:q:q-scheduled")
        assert transaction.execute() == [1, 2, 0]


@check
def a_transaction_has_the_error_of_one_command_and_the_replies_of_the_others(client):
    sha = client.script_load(SCRIPT)
    with client.pipeline() as transaction:
        transaction.evalsha(sha, 0, "put", 1, "w", "q", "j", "klass", "{}", 0)
        transaction.evalsha(sha, 0, "nope", 1)
        transaction.evalsha(sha, 0, "length", 1, "q")
        put, nope, length = transaction.execute(raise_on_error=False)
    assert (put, length) == ("j", 1)
    assert isinstance(nope, redis.ResponseError)


@check
def a_transaction_is_void_if_what_it_watches_has_changed(client):
    qless = Qless(client)
    with client.pipeline() as transaction:
        transaction.watch("ql:q:q-work")
        assert transaction.zcard("ql:q:q-work") == 0
        qless.put("j")
        transaction.multi()
        transaction.zcard("ql:q:q-work")
        assert_raises(redis.WatchError, "", transaction.execute)


@check
def a_thousand_calls_go_out_in_one_pipeline(client):
    sha = client.script_load(SCRIPT)
    with client.pipeline(transaction=False) as pipeline:
        for i in range(1000):
            pipeline.evalsha(sha, 0, "put", i, "w", "q", f"j{i}", "klass", "{}", 0)
        assert pipeline.execute() == [f"j{i}" for i in range(1000)]
    assert client.zcard("ql:q:q-work") == 1000


@check
def what_is_known_of_a_job_can_be_read_as_a_hash(client):
    qless = Qless(client)
    qless.put("j")
    assert "ql:j:j" in client.keys("ql:*")
    assert "ql:j:j" in set(client.scan_iter(match="ql:j:*"))
    fields = client.hgetall("ql:j:j")
    assert fields["queue"] == "q" and fields["state"] == "waiting"
    assert client.hget("ql:j:j", "klass") == "klass"
    assert client.zrange("ql:q:q-work", 0, -1) == ["j"]
    assert client.flushdb()
    assert client.keys("*") == []


@check
def any_bytes_of_a_job_come_back_as_they_were(client):
    qless = Qless(client)
    data = json.dumps({"text": "Grüße, \0 日本語 🎉", "more": "x" * 200_000}, ensure_ascii=False)
    qless("put", "w", "q", "schlüssel", "klass", data, 0)
    (job,) = qless.pop()
    assert job["jid"] == "schlüssel"
    assert job["data"] == data


@check
def a_client_goes_on_after_a_restart_of_the_server(client):
    qless = Qless(client)
    assert qless.put("j") == "j"
    restart()
    assert client.script_exists(qless.script.sha) == [True]
    assert [job["jid"] for job in qless.pop()] == ["j"]


@check
def a_subscriber_goes_on_after_a_restart_of_the_server(client):
    with client.pubsub() as listener:
        listener.subscribe("ql:log")
        assert next_message(listener) == ("subscribe", "ql:log", 1)
        restart()
        try:
            heard = next_message(listener)
        except redis.ConnectionError:  # it connects at the next call
            heard = next_message(listener)
        assert heard == ("subscribe", "ql:log", 1)
        client.publish("ql:log", "text")
        assert next_message(listener) == ("message", "ql:log", "text")


@check
def jobs_are_worked_on_by_tls(client):
    with connect_tls_as_client() as secure:
        qless = Qless(secure)
        for number in range(20):
            qless.put(f"j{number}")
        assert len(qless.pop(count=30)) == 20
        with secure.pipeline(transaction=False) as pipe:
            for _ in range(5000):
                pipe.echo("x" * 100)
            assert pipe.execute() == ["x" * 100] * 5000
        payload = "y" * (3 << 20)
        assert secure.echo(payload) == payload
        with secure.pubsub() as listener:
            listener.subscribe("ql:log")
            assert next_message(listener) == ("subscribe", "ql:log", 1)
            client.publish("ql:log", "text")
            assert next_message(listener) == ("message", "ql:log", "text")


@check
def certificates_satisfy_strict_clients(client):
    context = ssl.create_default_context(cafile=CERTIFICATES / "ca.crt")
    context.verify_flags |= ssl.VERIFY_X509_STRICT  # the default since Python 3.13
    context.load_cert_chain(CERTIFICATES / "client.crt", CERTIFICATES / "client.key")
    with socket.create_connection(("127.0.0.1", TLS_PORT), timeout=10) as connection:
        with context.wrap_socket(connection, server_hostname="localhost") as secure:
            secure.sendall(b"PING\r\n")
            assert secure.recv(7) == b"+PONG\r\n"


@check
def who_has_no_certificate_is_refused(client):
    with connect_tls() as stranger:
        try:
            stranger.ping()
        except redis.ConnectionError:
            return
    assert False, "it was let in"


@check
def simple_clients_send_lines(client):
    with socket.create_connection(("127.0.0.1", PORT), timeout=10) as connection:
        stream = connection.makefile("rwb")
        stream.write(b"FLUSHDB\r\nMULTI\r\nPING\r\nEXEC\r\n"
                     b"SUBSCRIBE a\r\nUNSUBSCRIBE\r\nQUIT\r\n")
        stream.flush()
        assert stream.read() == (b"+OK\r\n+OK\r\n+QUEUED\r\n*1\r\n+PONG\r\n"
                                 b"*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n"
                                 b"*3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:0\r\n+OK\r\n")


def resp3_is_spoken_to_who_asks_for_it(client):
    modern = connect(protocol=3)
    assert modern.execute_command("HELLO")["proto"] == 3
    qless = Qless(modern)
    qless.put("j")
    assert modern.hgetall("ql:j:j")["state"] == "waiting"
    assert [job["jid"] for job in qless.pop()] == ["j"]
    with modern.pubsub() as listener:
        listener.subscribe("ql:log")
        assert next_message(listener) == ("subscribe", "ql:log", 1)
        client.publish("ql:log", "text")
        assert next_message(listener) == ("message", "ql:log", "text")


if REDIS_PY >= (5, 0):  # before, it knows RESP2 only
    check(resp3_is_spoken_to_who_asks_for_it)


def main():
    failed = 0
    print(f"1..{len(checks)}")
    for number, function in enumerate(checks, 1):
        with connect() as client:
            client.flushall()
            client.script_flush()
            outcome = "ok"
            try:
                function(client)
            except Exception:  # whatever it is, the next case may do better
                outcome = "not ok"
                failed += 1
                traceback.print_exc()
        print(f"{outcome} {number} - {function.__name__.replace('_', ' ')}", flush=True)
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
