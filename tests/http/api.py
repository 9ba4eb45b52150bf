"""The API with a real daemon: whole lives of jobs, and what each answer says."""

import sys
import threading

import harness
from harness import contains, equal, has


def a_job_lives_and_ends_over_http(server):
    c = server.client()
    equal({"jid": "j1"}, c.post("/v1/queues/mail/jobs", status=201, body={
        "jid": "j1", "class": "Send", "data": {"to": ["a", "b"], "n": 1.5}, "tags": ["x"],
        "priority": 3}))
    has({"jid": "j1", "klass": "Send", "state": "waiting", "queue": "mail", "priority": 3,
         "data": {"to": ["a", "b"], "n": 1.5}, "tags": ["x"]}, c.get("/v1/jobs/j1"))
    equal("default", server.command("GET", "j1") and c.get("/v1/acl/whoami")["user"])

    (job,) = c.post("/v1/queues/mail/pop", {"worker": "w"})
    has({"jid": "j1", "state": "running", "worker": "w", "lock": 1}, job)
    equal({"data": {"to": ["a", "b"], "n": 1.5}},
          c.post("/v1/jobs/j1/start", {"worker": "w", "pid": 17, "node": "host", "lock": 1}))
    if c.post("/v1/jobs/j1/heartbeat", {"worker": "w"})["expires"] < job["expires"] - 1:
        raise AssertionError("the lock was not extended")
    equal({"ok": True}, c.post("/v1/jobs/j1/progress",
                               {"worker": "w", "percent": 50, "note": "half"}))
    has({"progress": 50, "note": "half", "pid": 17, "node": "host"}, c.get("/v1/jobs/j1"))
    equal({"remaining": 4}, c.post("/v1/jobs/j1/retry", {"worker": "w"}))
    c.post("/v1/queues/mail/pop", {"worker": "w"})
    equal({"jid": "j1"}, c.post("/v1/jobs/j1/fail", {
        "worker": "w", "group": "smtp", "message": "refused", "error": "line 1\nline 2"}))
    equal({"smtp": 1}, c.get("/v1/failures"))
    equal({"jobs": ["j1"], "total": 1}, c.get("/v1/failures/smtp"))
    has({"state": "failed", "error": "line 1\nline 2"}, c.get("/v1/jobs/j1/result"))
    equal({"moved": 1}, c.post("/v1/failures/smtp/retry", {"queue": "mail"}))
    c.post("/v1/queues/mail/pop", {"worker": "w"})
    equal({"state": "complete"},
          c.post("/v1/jobs/j1/complete", {"worker": "w", "result": {"sent": True}}))
    equal([["j1", "complete", '{"sent": true}']], c.get("/v1/jobs/j1/wait?timeout=9"))
    equal({"jids": ["j1"]}, c.get("/v1/states/complete"))
    equal({"deleted": 1}, c.ok("DELETE", "/v1/jobs/j1"))
    c.fails(404, "NOJOB", "GET", "/v1/jobs/j1")


def the_history_names_the_user_that_put_a_job(server):
    c = server.client()
    c.post("/v1/queues/q/jobs", {"jid": "j", "class": "k", "data": {}}, status=201)
    c.post("/v1/queues/q/pop", {"worker": "w"})
    c.post("/v1/jobs/j/complete", {"worker": "w", "next": "r"})
    equal("r", c.get("/v1/jobs/j")["queue"])
    c.post("/v1/jobs/j/log", {"message": "seen", "data": {"by": "us"}})
    has({"what": "seen", "by": "us"}, c.get("/v1/jobs/j")["history"][-1])


def puts_say_what_they_did(server):
    c = server.client()
    body = {"jid": "j", "class": "k", "data": {}}
    c.post("/v1/queues/q/jobs", body, status=201)
    equal("There is a job with this jid",
          c.fails(409, "EXISTS", "POST", "/v1/queues/q/jobs", dict(body, nx=True)))
    unique = {"class": "k", "data": 1, "unique": "u"}
    first = c.post("/v1/queues/q/jobs", unique, status=201)
    equal(first, c.post("/v1/queues/q/jobs", unique, status=200))
    equal(first, c.post("/v1/queues/q/jobs", dict(unique, data=2, replace=True), status=200))
    equal(2, c.get("/v1/jobs/" + first["jid"])["data"])
    equal({"jid": "1"}, c.post("/v1/queues/q/jobs",
                               {"class": "k", "data": 1, "jid": "+"}, status=201))


def an_idempotency_key_puts_a_job_once(server):
    c = server.client()
    body, key = {"class": "k", "args": [1, "x"]}, {"Idempotency-Key": "order-17"}
    first = c.post("/v1/queues/q/jobs", body, status=201, headers=key)
    equal(first, c.post("/v1/queues/q/jobs", body, status=200, headers=key))
    has({"unique": {"key": "idempotency:7:default:order-17", "until": 86400}},
        {"unique": {name: c.get("/v1/jobs/" + first["jid"])["unique"][name]
                    for name in ("key", "until")}})
    c.post("/v1/queues/q/pop", {"worker": "w"})
    c.post(f"/v1/jobs/{first['jid']}/complete", {"worker": "w"})
    equal(first, c.post("/v1/queues/q/jobs", body, status=200, headers=key))
    equal({"length": 0}, c.get("/v1/queues/q/length"))
    c.post("/v1/queues/q/jobs", body, status=201, headers={"Idempotency-Key": "order-18"})


def no_other_request_has_an_idempotency_key(server):
    c, d, body = server.client(), server.client(), {"class": "k", "data": 1}
    for client, name in ((c, "a"), (d, "a:b")):
        server.command("ACL", "SETUSER", name, "on", ">of " + name, "+@all", "~*")
        client.headers["Authorization"] = "Bearer of " + name
    first = c.post("/v1/queues/q/jobs", body, status=201, headers={"Idempotency-Key": "b:c"})
    second = d.post("/v1/queues/q/jobs", body, status=201, headers={"Idempotency-Key": "c"})
    equal(True, first != second)
    key = c.get("/v1/jobs/" + first["jid"])["unique"]["key"]
    equal("idempotency:1:a:b:c", key)
    # Nobody takes the key of another user before it does.
    for unique in (key, "idempotency:1:a:other", "idempotency:"):
        contains("must not begin with idempotency:", d.fails(
            400, "BADARG", "POST", "/v1/queues/q/jobs", dict(body, unique=unique)))
        contains("must not begin with idempotency:", d.fails(
            400, "BADARG", "POST", "/v1/queues/q/jobs", [dict(body, unique=unique)]))
        for words in (("PUT", "w", "q", "x", "k", "{}", 0, "unique", unique),
                      ("REQUEUE", "w", "q", first["jid"], "k", "{}", 0, "unique", unique),
                      ("RECUR", "q", "r", "k", "{}", "interval", 60, 0, "unique", unique)):
            try:
                server.command(*words)
            except AssertionError as error:
                contains("must not begin with idempotency:", str(error))
            else:
                raise AssertionError(f"{words} was accepted")
    c.post("/v1/queues/q/jobs", dict(body, unique="idempotency"), status=201)
    # The key outlasts a restart.
    server.process.terminate()
    equal(0, server.process.wait(harness.PATIENCE_S))
    server.start()
    c.close()
    equal(first, c.post("/v1/queues/q/jobs", body, status=200, headers={"Idempotency-Key": "b:c"}))


def an_array_puts_all_or_none(server):
    c = server.client()
    jobs = [{"jid": f"j{i}", "class": "k", "data": i, "priority": 2} for i in range(100)]
    equal({"jids": [job["jid"] for job in jobs], "outcomes": 100 * ["put"]},
          c.post("/v1/queues/q/jobs", jobs, status=201))
    equal({"length": 100}, c.get("/v1/queues/q/length"))
    equal(2, c.get("/v1/jobs/j7")["priority"])
    bad = [{"class": "k", "data": 1}, {"class": "k"}]
    contains("Element 2", c.fails(400, "BADARG", "POST", "/v1/queues/q/jobs", bad))
    bad = [{"class": "k", "data": 1, "depends": ["a"]}, {"class": "k", "data": 1}]
    contains('The member "depends" must be that of the first element', c.fails(400, "BADARG", "POST", "/v1/queues/q/jobs", bad))
    equal({"length": 100}, c.get("/v1/queues/q/length"))


def an_array_says_what_became_of_each_job(server):
    c = server.client()

    def put(status, *jobs):
        return c.post("/v1/queues/q/jobs", [dict(job, **{"class": "k"}) for job in jobs],
                      status=status)

    # The key is that of the class and the data.
    one, two = {"data": 1, "unique": "args"}, {"data": 2, "unique": "args"}
    equal({"jids": ["1"], "outcomes": ["put"]}, put(201, dict(one, jid="+")))
    equal({"jids": ["1", "2", "2"], "outcomes": ["held", "put", "held"]},
          put(201, dict(one, jid="+"), dict(two, jid="2"), dict(two, jid="x")))
    equal({"jids": ["1", "2"], "outcomes": ["held", "held"]}, put(200, one, two))
    equal({"length": 2}, c.get("/v1/queues/q/length"))
    # Jids that are taken.
    equal({"jids": [None, "y"], "outcomes": ["exists", "put"]},
          put(201, {"jid": "1", "data": 3, "nx": True}, {"jid": "y", "data": 3, "nx": True}))
    equal({"jids": [None, None], "outcomes": ["exists", "exists"]},
          put(200, {"jid": "1", "data": 3, "nx": True}, {"jid": "y", "data": 3, "nx": True}))
    # Without those options, a put replaces the job.
    equal({"jids": ["y"], "outcomes": ["put"]}, put(201, {"jid": "y", "data": 4}))
    equal(4, c.get("/v1/jobs/y")["data"])
    # More than 256 KB of data is checked over several turns.
    large = [{"jid": f"l{i}", "data": str(i) + 1000 * "x", "unique": "args"} for i in range(1000)]
    jids = [job["jid"] for job in large]
    equal({"jids": jids, "outcomes": 1000 * ["put"]}, put(201, *large))
    for job in large:
        job["jid"] += "again"
    equal({"jids": jids, "outcomes": 1000 * ["held"]}, put(200, *large))
    # The history of a session does not hide it.
    server.command("ACL", "SETUSER", "alice", "on", ">secret", "+@all", "~*")
    answer = c.call("POST", "/v1/login", {"user": "alice", "password": "secret"})
    c.headers["Cookie"] = answer.headers["Set-Cookie"].split(";")[0]
    equal({"jids": ["1", "z"], "outcomes": ["held", "put"]},
          put(201, dict(one, jid="+", worker="w"),
              {"jid": "z", "data": 5, "unique": "args", "worker": "w"}))
    equal({"jid": "z"}, c.post("/v1/queues/q/jobs", {
        "jid": "+", "class": "k", "data": 5, "unique": "args", "worker": "w"}, status=200))
    equal({"jids": jids, "outcomes": 1000 * ["held"]}, put(200, *large))


def raw_data_travels_in_base64(server):
    c = server.client()
    data = {"base64": "AP8Q"}
    c.post("/v1/queues/q/jobs", {"jid": "j", "class": "k", "raw": True, "data": data}, status=201)
    has({"raw": True, "data": data}, c.get("/v1/jobs/j"))
    equal([{"data": data}], c.get("/v1/queues/q/jobs?with=data")["jobs"])
    (job,) = c.post("/v1/pop", {"worker": "w", "queues": ["a", "q"]})
    equal(data, job["data"])
    equal({"data": data}, c.post("/v1/jobs/j/start", {"worker": "w"}))
    c.post("/v1/jobs/j/heartbeat", {"worker": "w", "raw": True, "data": {"base64": "/w=="}})
    equal({"base64": "/w=="}, c.get("/v1/jobs/j")["data"])
    c.post("/v1/jobs/j/requeue", {"queue": "r"})
    has({"raw": True, "data": {"base64": "/w=="}, "queue": "r", "klass": "k"},
        c.get("/v1/jobs/j"))


def data_comes_back_as_it_was_sent(server):
    c = server.client()
    texts = ["null", "17", '"a\\u00e9\\n"', "[]", '{ "b" : 1, "a" : [ 1.0e2 ] }',
             "9007199254740993", "[" * 500 + "]" * 500]
    for text in texts:
        body = b'{"jid": "j", "class": "k", "data": %s}' % text.encode()
        c.post("/v1/queues/q/jobs", body, status=201)
        contains(f'"data":{text},"failure"', c.call("GET", "/v1/jobs/j").body.decode())


def a_pop_waits_for_a_job(server):
    waiting, other = server.client(), server.client()
    waiting.send("POST", "/v1/queues/q/pop", {"worker": "w", "timeout": 60})
    harness.wait_until(lambda: other.get("/v1/info?section=clients")
                       ["clients"]["blocked_clients"] == 1)
    other.post("/v1/queues/q/jobs", {"jid": "j", "class": "k", "data": {}}, status=201)
    answer = waiting.receive()
    equal((200, ["j"]), (answer.status, [job["jid"] for job in answer.json]))
    equal([], waiting.post("/v1/queues/q/pop", {"worker": "w", "timeout": 0.01}))
    equal([], waiting.post("/v1/queues/q/pop", {"worker": "w"}))


def a_pop_may_ask_for_a_class(server):
    waiting, other = server.client(), server.client()
    for jid, klass in ("a1", "a"), ("b1", "b"):
        other.post("/v1/queues/q/jobs", {"jid": jid, "class": klass, "data": {}}, status=201)
    (job,) = other.post("/v1/queues/q/pop", {"worker": "w", "class": "b", "count": 5})
    equal("b1", job["jid"])
    equal([], other.post("/v1/pop", {"worker": "w", "queues": ["p", "q"], "class": "b"}))
    waiting.send("POST", "/v1/queues/q/pop", {"worker": "w", "class": "b", "timeout": 60})
    harness.wait_until(lambda: other.get("/v1/info?section=clients")
                       ["clients"]["blocked_clients"] == 1)
    other.post("/v1/queues/q/jobs", {"jid": "b2", "class": "b", "data": {}}, status=201)
    equal(["b2"], [job["jid"] for job in waiting.receive().json])
    equal("waiting", other.get("/v1/jobs/a1")["state"])
    other.ok("PUT", "/v1/endpoints/e", {"url": "http://127.0.0.1:1/", "queues": ["r"], "class": "b"})
    equal("b", other.get("/v1/endpoints/e")["class"])


def a_wait_ends_when_its_client_goes(server):
    waiting, other = server.client(), server.client()
    waiting.send("POST", "/v1/queues/q/pop", {"worker": "w", "timeout": 0})
    harness.wait_until(lambda: other.get("/v1/info?section=clients")
                       ["clients"]["blocked_clients"] == 1)
    waiting.close()
    harness.wait_until(lambda: other.get("/v1/info?section=clients")
                       ["clients"]["blocked_clients"] == 0)
    other.post("/v1/queues/q/jobs", {"jid": "j", "class": "k", "data": {}}, status=201)
    equal("waiting", other.get("/v1/jobs/j")["state"])


def a_wait_for_an_end_is_answered(server):
    waiting, other = server.client(), server.client()
    other.post("/v1/queues/q/jobs", {"jid": "j", "class": "k", "data": {}}, status=201)
    waiting.send("GET", "/v1/wait?jid=j&jid=none&timeout=60")
    harness.wait_until(lambda: other.get("/v1/info?section=clients")
                       ["clients"]["blocked_clients"] == 1)
    other.post("/v1/queues/q/pop", {"worker": "w"})
    other.post("/v1/jobs/j/complete", {"worker": "w", "queue": "q", "result": "done"})
    equal([["j", "complete", "done"], ["none", None, None]], waiting.receive().json)


def requests_in_a_row_are_answered_in_order(server):
    c = server.client()
    c.connection.connect()
    requests = b"".join(
        b"GET /v1/queues/q%d HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" % i for i in range(100))
    c.connection.sock.sendall(requests)
    stream = c.connection.sock.makefile("rb")
    for i in range(100):
        equal(f"q{i}", harness.read_answer(stream).json["name"])


def errors_have_codes_and_statuses(server):
    c = server.client()
    c.post("/v1/queues/q/jobs", {"jid": "j", "class": "k", "data": {}}, status=201)
    contains("openapi.json", c.fails(404, "NOTFOUND", "GET", "/v1/nothing"))
    answer = c.call("POST", "/v1/limits/x", {})
    equal((405, "BADMETHOD", "GET, HEAD, PUT, DELETE"),
          (answer.status, answer.code, answer.headers["Allow"]))
    contains('did you mean "priority"', c.fails(
        400, "BADARG", "POST", "/v1/queues/q/jobs", {"class": "k", "data": 1, "prioritty": 1}))
    c.fails(400, "BADJSON", "POST", "/v1/queues/q/jobs", b"{")
    c.fails(400, "BADARG", "GET", "/v1/queues?x=1")
    c.fails(400, "ERR", "GET", "/v1/queues?db=1000")
    c.fails(409, "NOTRUNNING", "POST", "/v1/jobs/j/heartbeat", {"worker": "w"})
    c.post("/v1/queues/q/pop", {"worker": "w"})
    c.fails(409, "NOTOWNER", "POST", "/v1/jobs/j/heartbeat", {"worker": "x"})
    c.fails(409, "NOTOWNER", "POST", "/v1/jobs/j/heartbeat", {"worker": "w", "lock": 99})
    c.fails(409, "WRONGQUEUE", "POST", "/v1/jobs/j/complete", {"worker": "w", "queue": "x"})
    c.fails(409, "NOTFINISHED", "DELETE", "/v1/jobs/j")
    c.fails(404, "NOJOB", "POST", "/v1/jobs/none/complete", {"worker": "w"})
    c.post("/v1/queues/q/jobs", {"jid": "d", "class": "k", "data": 1, "depends": ["j"]},
           status=201)
    c.fails(409, "DEPENDENTS", "POST", "/v1/jobs/j/cancel")
    equal({"jids": ["j", "d"]}, c.post("/v1/jobs/j/cancel", {"with": ["d"]}))
    c.fails(413, "LIMIT", "POST", "/v1/queues/q/jobs", {"class": "k" * 100000, "data": 1})
    c.fails(404, "NOTFOUND", "GET", "/v1/limits/none")
    c.fails(404, "NOJOB", "GET", "/v1/recurring/none")
    c.fails(400, "BADARG", "POST", "/v1/queues/q/jobs", {"class": "k", "data": 1, "delay": -1})


def slashes_of_errors_and_pages_are_not_escaped(server):
    c = server.client()
    paths = ["/v1/nothing", "/v1/limits/a%2Fb", "/v1/openapi.json", "/v1/info", "/v1/me",
             "/v1/events?event=a%2Fb", "/v1/queues/q?x=a%2Fb"]
    for path in paths:
        equal((path, False), (path, b"\\/" in c.call("GET", path).body))
    for body in [{"class": "k", "data": 1, "a/b": 1}, b"{", {"class": "k"}]:
        answer = c.call("POST", "/v1/queues/a%2Fb/jobs", body)
        equal((400, False), (answer.status, b"\\/" in answer.body))
    answer = c.call("POST", "/healthz", {})
    equal((405, False), (answer.status, b"\\/" in answer.body))


def nesting_is_limited(server):
    c = server.client()
    for depth, status in ((1000, 201), (1001, 413), (1002, 400), (100000, 400)):
        data = b"[" * depth + b"]" * depth
        answer = c.call("POST", "/v1/queues/q/jobs", b'{"class":"k","data":%s}' % data)
        equal(status, answer.status)
        if status != 201:
            contains("max-json-depth", answer.message)


def a_large_reply_becomes_an_error(server):
    c = server.client()
    data = "x" * 50000
    c.post("/v1/queues/q/jobs", [{"jid": f"j{i}", "class": "k", "data": data} for i in range(60)],
           status=201)
    jids = "&".join(f"jid=j{i}" for i in range(50))
    # Two at once, so that the first answer still waits when the second one is written.
    c.connection.connect()
    request = b"GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    c.connection.sock.sendall(request % b"/v1/jobs/j1" + request % f"/v1/jobs?{jids}".encode() +
                              request % b"/v1/jobs/j2")
    stream = c.connection.sock.makefile("rb")
    for status, code in ((200, None), (413, "LIMIT"), (200, None)):
        answer = harness.read_answer(stream)
        equal(status, answer.status)
        if code is None:
            equal(data, answer.json["data"])
        else:
            equal(code, answer.code)
            contains("max-reply-size", answer.message)


a_large_reply_becomes_an_error.options = ("--max-reply-size", "1mb")


def the_values_of_a_request_are_limited(server):
    c = server.client()
    headers = {f"X-{i}": "v" for i in range(60)}
    for request in (("POST", "/v1/jobs/cancel", {"jids": ["j"] * 150}),
                    ("POST", "/v1/pop", {"worker": "w", "queues": ["q"] * 150}),
                    ("POST", "/v1/queues/q/complete",
                     {"worker": "w", "jobs": [{"jid": "j", "data": 1}] * 60}),
                    ("POST", "/v1/queues/q/jobs", [{"class": "k", "data": 1}] * 60),
                    ("PUT", "/v1/endpoints/e", {
                        "url": "http://127.0.0.1/", "queues": ["q"], "headers": headers})):
        message = c.fails(413, "LIMIT", *request)
        contains("client-max-arguments (100)", message)
    c.post("/v1/jobs/cancel", {"jids": [f"j{i}" for i in range(90)]})


the_values_of_a_request_are_limited.options = ("--client-max-arguments", "100")


def each_database_is_apart(server):
    c = server.client()
    c.post("/v1/queues/q/jobs?db=3", {"jid": "j", "class": "k", "data": {}}, status=201)
    c.fails(404, "NOJOB", "GET", "/v1/jobs/j")
    equal("j", c.get("/v1/jobs/j?db=3")["jid"])
    c.fails(404, "NOJOB", "GET", "/v1/jobs/j")


def recurring_jobs_have_ticks(server):
    c = server.client()
    c.post("/v1/queues/q/recurring", status=201, body={
        "jid": "r", "class": "k", "data": {"a": 1}, "cron": "0 4 * * *", "tz": "UTC"})
    c.post("/v1/queues/q/recurring", status=201, body={
        "jid": "s", "class": "k", "data": {}, "interval": 60, "offset": 60})
    has({"cron": "0 4 * * *", "tz": "UTC", "data": {"a": 1}}, c.get("/v1/recurring/r"))
    times = c.get("/v1/recurring/r/next?count=3")["times"]
    equal([86400, 86400], [times[1] - times[0], times[2] - times[1]])
    c.post("/v1/queues/q2/recurring", status=201, body={
        "jid": "t", "class": "k", "data": {}, "interval": 60})
    for path, jids in (("", ["r", "s", "t"]), ("?queue=q", ["r", "s"]), ("?queue=none", [])):
        page = c.get("/v1/recurring" + path)
        equal(("0", jids), (page["cursor"], sorted(job["jid"] for job in page["jobs"])))
    c.ok("PATCH", "/v1/recurring/s", {"interval": 30, "data": [1], "priority": 4})
    has({"interval": 30, "data": [1], "priority": 4}, c.get("/v1/recurring/s"))
    equal({"tags": ["x"]}, c.post("/v1/recurring/s/tag", {"tags": ["x"]}))
    equal({"tags": []}, c.post("/v1/recurring/s/untag", {"tags": ["x"]}))
    equal({"deleted": 1}, c.ok("DELETE", "/v1/recurring/s"))
    c.fails(404, "NOJOB", "DELETE", "/v1/recurring/s")


def limits_hold_jobs_back(server):
    c = server.client()
    equal({"ok": True}, c.ok("PUT", "/v1/limits/api", {"concurrency": 1}))
    for jid in ("a", "b"):
        c.post("/v1/queues/q/jobs", status=201,
               body={"jid": jid, "class": "k", "data": {}, "limits": ["api"]})
    equal(["a"], [job["jid"] for job in
                  c.post("/v1/queues/q/pop", {"worker": "w", "count": 5})])
    limit = c.get("/v1/limits/api")
    has({"concurrency": 1, "running": 1, "waiting": 1}, limit)
    equal(["a"], [holder["jid"] for holder in limit["holders"]])
    has({"reason": "limit"}, c.get("/v1/jobs/b/why"))
    equal(["api"], [limit["name"] for limit in c.get("/v1/limits?match=a*")["limits"]])
    c.post("/v1/limits/api/hold", {"seconds": 60})
    equal({"deleted": 1}, c.ok("DELETE", "/v1/limits/api"))


def a_job_is_changed_and_found(server):
    c = server.client()
    c.post("/v1/queues/q/jobs", {"jid": "j/1", "class": "k", "data": {"user": {"id": 7}}},
           status=201)
    equal({"tags": ["a", "b"]}, c.post("/v1/jobs/j%2F1/tag", {"tags": ["a", "b"]}))
    equal({"tags": ["a"]}, c.post("/v1/jobs/j%2F1/untag", {"tags": ["b"]}))
    equal({"priority": 9}, c.post("/v1/jobs/j%2F1/priority", {"priority": 9}))
    equal({"jobs": ["j/1"], "total": 1}, c.get("/v1/tags/a"))
    equal({"changed": 1}, c.post("/v1/jobs/j%2F1/track"))
    equal(["j/1"], [job["jid"] for job in c.get("/v1/tracked")["jobs"]])
    equal({"changed": 1}, c.post("/v1/jobs/j%2F1/untrack", {}))
    equal({"new": 2}, c.ok("PATCH", "/v1/jobs/j%2F1/meta", {"fields": {"a": "x", "b": 1}}))
    equal({"a": "x", "b": "1"}, c.get("/v1/jobs/j%2F1/meta"))
    equal({"removed": 1}, c.ok("DELETE", "/v1/jobs/j%2F1/meta?field=a&field=c"))
    equal(["j/1"], c.get("/v1/search?data=user.id:7&tag=a")["jobs"])
    equal([], c.get("/v1/search?data=user.id:8")["jobs"])
    equal(["j/1"], [job["jid"] for job in c.get("/v1/jobs?jid=none&jid=j%2F1")])
    equal({"k": 1}, dict(c.get("/v1/queues/q/count?by=klass")))
    has({"name": "q", "waiting": 1}, c.get("/v1/queues")[0])
    equal({"ok": True}, c.post("/v1/queues/q/pause"))
    equal(True, c.get("/v1/queues/q")["paused"])
    equal({"ok": True}, c.post("/v1/queues/q/unpause", {}))


def jobs_are_listed_by_pages(server):
    c = server.client()
    expected = {f"j{i}" for i in range(500)}
    c.post("/v1/queues/q/jobs",
           [{"jid": jid, "class": "k", "data": 1} for jid in sorted(expected)], status=201)
    cursor, found = "0", []
    while True:
        page = c.get(f"/v1/queues/q/jobs?state=waiting&count=50&cursor={cursor}&with=jid&with=state")
        found += [job["jid"] for job in page["jobs"] if job["state"] == "waiting"]
        cursor = page["cursor"]
        if cursor == "0":
            break
    equal((500, expected), (len(found), set(found)))


def several_jobs_are_completed_at_once(server):
    c = server.client()
    for jid in ("a", "b"):
        c.post("/v1/queues/q/jobs", {"jid": jid, "class": "k", "data": {}}, status=201)
    c.post("/v1/queues/q/pop", {"worker": "w", "count": 2})
    equal(2, len(c.post("/v1/workers/w/heartbeats", {"jids": ["a", "b"]})["expires"]))
    equal({"renewed": 2}, c.post("/v1/workers/w/heartbeat"))
    states = c.post("/v1/queues/q/complete", {"worker": "w", "jobs": [
        {"jid": "a", "data": {}}, {"jid": "none", "data": {}}]})["states"]
    equal(("complete", "NOJOB"), (states[0], states[1]["error"]["code"]))
    equal({"released": 1}, c.post("/v1/workers/w/release", {}))
    equal("waiting", c.get("/v1/jobs/b")["state"])
    c.post("/v1/queues/q/pop", {"worker": "w"})
    equal({"ok": True}, c.post("/v1/jobs/b/timeout"))
    equal("stalled", c.get("/v1/jobs/b")["state"])


def the_server_tells_about_itself(server):
    c = server.client()
    info = c.get("/v1/info")
    has({"qlessd_version": info["server"]["qlessd_version"]}, info["server"])
    equal(["clients"], list(c.get("/v1/info?section=clients")))
    equal({"maxclients": "10000"}, c.get("/v1/config?pattern=maxclients"))
    (client,) = [client for client in c.get("/v1/clients") if client["cmd"] == "client|list"]
    equal("default", client["user"])
    equal({"value": 60}, c.get("/v1/options/heartbeat"))
    equal({"ok": True}, c.ok("PUT", "/v1/options/heartbeat", {"value": 50}))
    equal({"value": "50"}, c.get("/v1/options/heartbeat"))
    equal({"ok": True}, c.ok("DELETE", "/v1/options/heartbeat"))
    equal({"findings": []}, c.post("/v1/consistencycheck"))
    for path in ("slowlog", "latency", "memory/queues", "time", "acl/log", "options", "workers",
                 "listeners", "tags", "stats/q", "workers/w"):
        c.get("/v1/" + path)
    c.fails(404, "NOTFOUND", "DELETE", "/v1/clients/99999")


def the_slow_log_has_requests_of_http(server):
    c = server.client()
    c.post("/v1/queues/q/jobs", {"jid": "j", "class": "k", "data": {}}, status=201)
    contains("put", str(c.get("/v1/slowlog?count=5")))


the_slow_log_has_requests_of_http.options = ("--slowlog-log-slower-than", "0")


def names_may_have_any_bytes(server):
    c = server.client()
    c.post("/v1/queues/a%20%22b%5C%C3%A9/jobs", {"jid": "j", "class": "k", "data": 1}, status=201)
    equal('a "b\\\u00e9', c.get("/v1/jobs/j")["queue"])
    equal({"length": 1}, c.get("/v1/queues/a%20%22b%5C%C3%A9/length"))
    c.post("/v1/jobs/j/tag", {"tags": ["\u00e9\n\U0001f41f"]})
    equal(["\u00e9\n\U0001f41f"], c.get("/v1/jobs/j")["tags"])


def many_clients_share_the_work(server):
    """Each job is put, popped and completed once, by clients at the same time."""
    count, threads, done = 25, [], []

    def work(number):
        c = server.client()
        for i in range(count):
            c.post("/v1/queues/q/jobs", {"jid": f"{number}-{i}", "class": "k", "data": i},
                   status=201)
            (job,) = c.post("/v1/queues/q/pop", {"worker": f"w{number}", "timeout": 60})
            equal({"state": "complete"}, c.post(
                f"/v1/jobs/{job['jid']}/complete", {"worker": f"w{number}", "queue": "q"}))
            done.append(job["jid"])

    for number in range(16):
        threads.append(threading.Thread(target=work, args=(number,)))
        threads[-1].start()
    for thread in threads:
        thread.join()
    equal(16 * count, len(set(done)))


sys.exit(harness.run([
    a_job_lives_and_ends_over_http,
    the_history_names_the_user_that_put_a_job,
    puts_say_what_they_did,
    an_idempotency_key_puts_a_job_once,
    no_other_request_has_an_idempotency_key,
    an_array_puts_all_or_none,
    an_array_says_what_became_of_each_job,
    raw_data_travels_in_base64,
    data_comes_back_as_it_was_sent,
    a_pop_waits_for_a_job,
    a_pop_may_ask_for_a_class,
    a_wait_ends_when_its_client_goes,
    a_wait_for_an_end_is_answered,
    requests_in_a_row_are_answered_in_order,
    errors_have_codes_and_statuses,
    slashes_of_errors_and_pages_are_not_escaped,
    nesting_is_limited,
    a_large_reply_becomes_an_error,
    the_values_of_a_request_are_limited,
    each_database_is_apart,
    recurring_jobs_have_ticks,
    limits_hold_jobs_back,
    a_job_is_changed_and_found,
    jobs_are_listed_by_pages,
    several_jobs_are_completed_at_once,
    the_server_tells_about_itself,
    the_slow_log_has_requests_of_http,
    names_may_have_any_bytes,
    many_clients_share_the_work,
]))
