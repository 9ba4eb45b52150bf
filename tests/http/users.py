"""Logging in and out, what a user may do, and what its history tells."""

import http.client
import socket
import sys

import harness
from harness import contains, equal, has


def make_user(server, name, *rules):
    server.command("ACL", "SETUSER", name, "reset", "on", ">secret", "+@all", "~*", "&*", *rules)


def log_in(server, user="alice", password="secret"):
    """A client with the cookie of a session, and the attributes of the cookie."""
    c = server.client()
    answer = c.call("POST", "/v1/login", {"user": user, "password": password})
    equal(200, answer.status)
    equal({"user": user}, answer.json)
    cookie, *attributes = answer.headers["Set-Cookie"].split("; ")
    c.headers["Cookie"] = cookie
    return c, attributes


def a_cookie_stands_for_the_user(server):
    make_user(server, "alice")
    c, attributes = log_in(server)
    equal(["Path=/", "Max-Age=604800", "HttpOnly", "SameSite=Strict"], attributes)
    has({"user": "alice", "session": True}, c.get("/v1/me"))
    equal(len(f"qlessd-{server.port}=") + 64, len(c.headers["Cookie"]))
    other = server.client()
    has({"user": "default", "session": False}, other.get("/v1/me"))


def a_logout_ends_the_session(server):
    make_user(server, "alice")
    c, _ = log_in(server)
    answer = c.call("POST", "/v1/logout")
    equal({"ok": True}, answer.json)
    contains(f"qlessd-{server.port}=; Path=/; Max-Age=0", answer.headers["Set-Cookie"])
    has({"user": "default", "session": False}, c.get("/v1/me"))
    equal({"ok": False}, c.post("/v1/logout"))


def servers_at_two_ports_of_a_host_keep_their_cookies_apart(server):
    make_user(server, "alice")
    other = harness.Server()
    try:
        make_user(other, "bob")
        alice, bob = log_in(server)[0], log_in(other, "bob")[0]
        # A browser has one cookie of each name, and sends all of them to each port.
        cookies = dict(c.headers["Cookie"].split("=") for c in (alice, bob))
        for c in (alice, bob):
            c.headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in cookies.items())
        equal(["alice", "bob"], [user_of(c) for c in (alice, bob)])
        equal({"ok": True}, alice.post("/v1/logout"))
        equal(["default", "bob"], [user_of(c) for c in (alice, bob)])
    finally:
        other.stop()


def a_wrong_password_is_refused_and_counts(server):
    make_user(server, "alice")
    before = server.command("INFO", "stats")
    c = server.client()
    equal("invalid username-password pair or user is disabled",
          c.fails(401, "WRONGPASS", "POST", "/v1/login", {"user": "alice", "password": "wrong"}))
    if "Set-Cookie" in c.call("POST", "/v1/login", {"user": "no", "password": "secret"}).headers:
        raise AssertionError("a cookie for nobody")
    equal({"user": "alice"}, c.post("/v1/login", {"user": "alice", "password": "secret"}))
    contains("acl_access_denied_auth:0", before.decode())
    contains("acl_access_denied_auth:2", server.command("INFO", "stats").decode())
    contains("'alice'", str(c.get("/v1/acl/log")))


def bodies_of_a_login_have_two_texts(server):
    c = server.client()
    for body in (b"", b"{", b"[]", b'"x"', b"{}", {"user": "a"}, {"password": "a"},
                 {"user": 1, "password": "a"}, {"user": "a", "password": None},
                 {"user": "a", "password": "b", "c": 1},
                 b'{"user":"a","user":"b","password":"c"}'):
        c.fails(400, "BADARG", "POST", "/v1/login", body)
    c.fails(400, "BADARG", "POST", "/v1/login?x=1", {"user": "a", "password": "b"})
    c.fails(405, "BADMETHOD", "GET", "/v1/login")
    c.fails(405, "BADMETHOD", "GET", "/v1/logout")
    c.fails(405, "BADMETHOD", "POST", "/v1/me", {})


def a_change_of_the_user_ends_its_sessions(server):
    for change in (("SETUSER", "alice", ">new"), ("SETUSER", "alice", "off"),
                   ("SETUSER", "alice", "-get"), ("DELUSER", "alice")):
        make_user(server, "alice")
        c, _ = log_in(server)
        equal("alice", c.get("/v1/me")["user"])
        server.command("ACL", *change)
        c.close()
        equal("default", c.get("/v1/me")["user"])


def user_of(c):
    return c.get("/v1/me")["user"]


def a_user_that_logs_in_often_ends_only_its_own_sessions(server):
    make_user(server, "alice")
    make_user(server, "bob")
    alice = [log_in(server)[0] for _ in range(2)]
    bobs = [log_in(server, "bob")[0] for _ in range(5)]
    equal(["alice", "alice"], [user_of(c) for c in alice])
    equal(["default", "default", "bob", "bob", "bob"], [user_of(c) for c in bobs])
    contains("http_sessions:5\r", server.command("INFO", "stats").decode())


a_user_that_logs_in_often_ends_only_its_own_sessions.options = ["--http-user-sessions", "3"]


def the_user_with_most_sessions_makes_room_for_others(server):
    for name in ("alice", "bob", "carol", "dan", "erin"):
        make_user(server, name)
    alice = log_in(server)[0]
    bobs = [log_in(server, "bob")[0] for _ in range(5)]
    equal(["alice", "default", "default", "bob", "bob", "bob"],
          [user_of(c) for c in [alice, *bobs]])
    # At her second login, carol would have as many as bob, so she replaces her own.
    carols = [log_in(server, "carol")[0] for _ in range(2)]
    equal(["alice", "default", "bob", "bob", "default", "carol"],
          [user_of(c) for c in [alice, *bobs[2:], *carols]])
    dan = log_in(server, "dan")[0]
    equal(["alice", "default", "bob", "carol", "dan"],
          [user_of(c) for c in [alice, *bobs[3:], carols[1], dan]])
    # Each has one: the session ends that was not used for the longest time.
    erin = log_in(server, "erin")[0]
    equal(["default", "bob", "carol", "dan", "erin"],
          [user_of(c) for c in [alice, bobs[4], carols[1], dan, erin]])
    # Fewer sessions than there are.
    server.command("CONFIG", "SET", "http-sessions", "1")
    harness.wait_until(
        lambda: "http_sessions:1\r" in server.command("INFO", "stats").decode())


the_user_with_most_sessions_makes_room_for_others.options = ["--http-sessions", "4"]


def a_session_needs_the_password_of_the_server_no_more(server):
    make_user(server, "alice")
    c, _ = log_in(server)
    server.command("CONFIG", "SET", "requirepass", "secret2")
    equal("alice", c.get("/v1/me")["user"])
    server.client().fails(401, "NOAUTH", "GET", "/v1/me")
    d, _ = log_in(server, "default", "secret2")
    equal("default", d.get("/v1/me")["user"])


def cookies_that_are_no_token_are_ignored(server):
    c = server.client()
    name = f"qlessd-{server.port}"
    for cookie in (f"{name}=", f"{name}=" + "0" * 64, f"{name}=" + "x" * 64, name, ";;;",
                   f"{name}=" + "0" * 5000, f"a=b; {name}=\x7f", f"{name}=\xff"):
        c.headers["Cookie"] = cookie
        status = c.call("GET", "/v1/me").status
        if status not in (200, 400):
            raise AssertionError(f"{status} for {cookie!r}")
        c.close()


def a_user_learns_what_it_may_do(server):
    make_user(server, "reader", "-@all", "+@dashboard")
    c = server.client("reader", "secret")
    me = c.get("/v1/me")
    equal("reader", me["user"])
    for name, may in (("get", True), ("job.search", True), ("cancel", False), ("put", False),
                      ("acl|setuser", False)):
        equal((name, may), (name, name in me["can"]))
    me = server.client().get("/v1/me")
    for name in ("cancel", "config|set", "acl|setuser"):
        equal((name, True), (name, name in me["can"]))


def can(server, name):
    return set(server.client(name, "secret").get("/v1/me")["can"])


def a_user_that_may_only_read_learns_of_no_command_that_changes(server):
    changing = {"put", "multiput", "pop", "cancel", "job.delete", "job.meta", "complete", "fail",
                "requeue", "retry", "priority", "tag", "track", "timeout", "pause", "unpause",
                "unfail", "recur", "recur.update", "unrecur", "worker.release", "limit.set",
                "config.set", "multiheartbeat", "queue.forget", "consistencycheck"}
    reading = {"get", "jobs", "queues", "queue.jobs", "peek", "job.search", "failed", "workers",
               "config.get", "recur.get", "stats"}
    everything = set(server.client().get("/v1/me")["can"])
    equal(set(), (changing | reading) - everything)
    # A user whose commands only read, and users with all commands but few keys.
    make_user(server, "dora", "-@all", "+@dashboard")
    make_user(server, "rita", "resetkeys", "%R~mail", "%R~ql:*")
    make_user(server, "walt", "resetkeys", "%W~mail")
    make_user(server, "mona", "resetkeys", "%R~*", "~mail")
    make_user(server, "nora", "resetkeys")
    for name in ("dora", "rita"):
        equal((name, set()), (name, changing & can(server, name)))
        equal((name, reading), (name, reading & can(server, name)))
    may = can(server, "walt")
    equal({"put", "cancel", "pause"}, {"put", "cancel", "pause"} & may)
    equal(set(), {"get", "pop", "tag", "peek", "consistencycheck"} & may)
    may = can(server, "mona")
    equal((changing | reading) - {"consistencycheck"}, (changing | reading) & may)
    equal(set(), {"put", "get", "pop", "cancel", "hgetall", "consistencycheck"} & can(server, "nora"))
    # The server refuses exactly the commands that the list lacks.
    server.command("PUT", "w", "mail", "j", "k", "{}", 0)
    rita = server.client("rita", "secret")
    rita.fails(403, "NOPERM", "POST", "/v1/jobs/j/priority", {"priority": 5})
    rita.fails(403, "NOPERM", "POST", "/v1/queues/mail/pause")
    equal("j", rita.get("/v1/jobs/j")["jid"])


def whats(server, jid):
    return [entry["what"] for entry in server.client().get(f"/v1/jobs/{jid}")["history"]]


def the_history_tells_what_a_user_did_in_the_console(server):
    make_user(server, "alice")
    c, _ = log_in(server)
    server.command("PUT", "w", "q", "j", "k", "{}", 0)
    c.post("/v1/jobs/j/priority", {"priority": 5})
    c.post("/v1/jobs/j/tag", {"tags": ["a"]})
    c.post("/v1/jobs/j/untag", {"tags": ["a"]})
    c.post("/v1/jobs/j/track")
    c.post("/v1/jobs/j/untrack")
    c.post("/v1/jobs/j/requeue", {"queue": "r"})
    server.command("POP", "r", "w", 1)
    c.call("POST", "/v1/jobs/j/timeout")
    equal(["priority changed", "tagged", "untagged", "tracked", "untracked", "requeued",
           "timed out"],
          [what.removesuffix(" by alice in the console") for what in whats(server, "j")
           if what.endswith(" by alice in the console")])
    c.fails(409, "NOTRUNNING", "POST", "/v1/jobs/timeout", {"jids": ["j"]})
    equal(1, sum(what.startswith("timed out by") for what in whats(server, "j")))


def notes(server, jid):
    """The entries of the console in the history."""
    return [what for what in whats(server, jid) if what.endswith("in the console")]


def the_history_tells_which_failed_jobs_a_user_retried(server):
    make_user(server, "alice")
    make_user(server, "rita", "resetkeys", "~q")
    for jid, queue in (("a", "q"), ("b", "r"), ("c", "q"), ("d", "q"), ("e", "q")):
        server.command("PUT", "w", queue, jid, "k", "{}", 0)
        server.command("POP", queue, "w", 1)
        server.command("FAIL", jid, "w", "g", "m")
    rita, alice = log_in(server, "rita")[0], log_in(server)[0]
    equal({"moved": 1}, rita.post("/v1/failures/g/retry", {"queue": "q", "count": 1}))
    equal({"moved": 2}, alice.post("/v1/failures/g/retry", {"queue": "q", "count": 2}))
    equal({"moved": 2}, rita.post("/v1/failures/g/retry", {"queue": "q"}))
    equal({"moved": 0}, alice.post("/v1/failures/g/retry", {"queue": "q"}))
    equal([["retried by rita in the console"], ["retried by alice in the console"],
           ["retried by alice in the console"], ["retried by rita in the console"],
           ["retried by rita in the console"]], [notes(server, jid) for jid in "abcde"])
    # Counts may be written in other ways.
    for jid in "ac":
        server.command("POP", "q", "w", 5)
        server.command("FAIL", jid, "w", "h", "m")
    equal({"moved": 2}, alice.post("/v1/failures/h/retry", b'{"queue": "q", "count": 2.0e0}'))
    equal(["retried by rita in the console", "retried by alice in the console"], notes(server, "a"))
    equal(2 * ["retried by alice in the console"], notes(server, "c"))


def reading_leaves_no_entry(server):
    make_user(server, "alice")
    c, _ = log_in(server)
    server.command("PUT", "w", "q", "j", "k", "{}", 0)
    for path in ("", "/meta", "/why", "/result"):
        c.get("/v1/jobs/j" + path)
    equal([], notes(server, "j"))
    c.ok("PATCH", "/v1/jobs/j/meta", {"fields": {"a": "b"}})
    c.ok("DELETE", "/v1/jobs/j/meta?field=a")
    equal(2 * ["fields changed by alice in the console"], notes(server, "j"))


def the_history_tells_what_a_user_did_to_several_jobs(server):
    make_user(server, "alice")
    c, _ = log_in(server)
    for jid, worker in (("a", "w"), ("b", "x"), ("c", "w")):
        server.command("PUT", "p", "q", jid, "k", "{}", 0)
        server.command("POP", "q", worker, 1)
    c.post("/v1/queues/q/complete", {
        "worker": "w", "jobs": [{"jid": jid, "data": {}} for jid in "abcd"]})
    equal([["completed by alice in the console"], [], ["completed by alice in the console"]],
          [notes(server, jid) for jid in "abc"])
    c.call("POST", "/v1/jobs/timeout", {"jids": ["b"]})
    equal(["timed out by alice in the console"], notes(server, "b"))


def the_history_names_the_user_that_puts_a_job_for_a_worker(server):
    make_user(server, "alice")
    c, _ = log_in(server)
    server.command("PUT", "w", "q", "held", "k", "{}", 0, "unique", "u")
    jobs = [{"jid": "a", "class": "k", "data": 1}, {"jid": "+", "class": "k", "data": 2}]
    first = c.post("/v1/queues/q/jobs", [dict(job, worker="w") for job in jobs], status=201)
    equal(["a", "1"], first["jids"])
    second = c.post("/v1/queues/q/jobs", {"class": "k", "data": 3, "worker": "w"}, status=201)
    for jid in [*first["jids"], second["jid"]]:
        equal(["put by alice in the console"], notes(server, jid))
    # The history names the user, if that is the worker.
    third = c.post("/v1/queues/q/jobs", jobs[1:], status=201)
    equal([], notes(server, third["jids"][0]))
    # More than 256 KB of data is checked over several turns.
    large = [{"jid": f"l{i}", "class": "k", "data": 1000 * "x"} for i in range(1000)]
    c.post("/v1/queues/q/jobs", [dict(job, worker="w") for job in large], status=201)
    equal(["put by alice in the console"], notes(server, "l999"))
    # Nothing was put.
    c.call("POST", "/v1/queues/q/jobs", {"class": "k", "data": 1, "worker": "w", "unique": "u"})
    c.call("POST", "/v1/queues/q/jobs",
           [{"jid": "other", "class": "k", "data": 1, "worker": "w", "unique": "u"}])
    equal([], notes(server, "held"))


def the_history_tells_which_user_released_a_worker(server):
    make_user(server, "alice")
    c, _ = log_in(server)
    jids = [f"j{i}" for i in range(1500)]
    for jid in [*jids, "other"]:
        server.command("PUT", "p", "q", jid, "k", "{}", 0)
    server.command("POP", "q", "w", 1500)
    server.command("POP", "q", "x", 1)
    equal({"released": 1500}, c.post("/v1/workers/w/release"))
    released = "worker released by alice in the console"
    # The first request waits until all jobs have their entries.
    equal([released], [entry["what"] for entry in c.get("/v1/jobs/j1499")["history"]
                       if entry["what"].endswith("in the console")])
    for jid in jids[::100]:
        equal([released], notes(server, jid))
    equal([], notes(server, "other"))
    equal({"released": 0}, c.post("/v1/workers/w/release"))
    equal([released], notes(server, "j0"))


def actions_that_take_many_turns_at_once_leave_all_their_entries(server):
    make_user(server, "alice")
    one, two = log_in(server)[0], log_in(server)[0]
    jids = [f"j{i}" for i in range(2000)]
    server.command("MULTIPUT", "p", "q", 0, "jobs", *(x for jid in jids for x in (jid, "k", "{}")))
    for turn in range(4):
        server.command("POP", "q", "w", 2000)
        one.send("POST", "/v1/queues/r/jobs", [
            {"jid": f"l{turn}-{i}", "class": "k", "data": 2000 * "x", "worker": "w"}
            for i in range(1000)])
        two.send("POST", "/v1/workers/w/release")
        equal([201, 200], [c.receive().status for c in (one, two)])
        one.get("/v1/jobs/j0")  # waits until all jobs have their entries
        for i in (0, 499, 500, 999):
            equal(["put by alice in the console"], notes(server, f"l{turn}-{i}"))
        for i in (0, 500, 1999):
            equal(turn + 1, len(notes(server, f"j{i}")))


def the_history_is_as_before_without_a_session(server):
    make_user(server, "alice")
    server.command("PUT", "w", "q", "j", "k", "{}", 0)
    server.client("alice", "secret").post("/v1/jobs/j/priority", {"priority": 5})
    equal(["put"], whats(server, "j"))


def the_history_survives_a_restart(server):
    make_user(server, "alice")
    c, _ = log_in(server)
    server.command("PUT", "w", "q", "j", "k", "{}", 0)
    c.post("/v1/jobs/j/priority", {"priority": 5})
    before = server.client().get("/v1/jobs/j")
    server.process.terminate()
    equal(0, server.process.wait(harness.PATIENCE_S))
    server.start()
    equal(before, server.client().get("/v1/jobs/j"))
    contains("priority changed by alice in the console", str(before["history"]))
    c.close()
    equal("default", c.get("/v1/me")["user"])


def nothing_is_noted_when_a_command_fails(server):
    make_user(server, "alice")
    c, _ = log_in(server)
    server.command("PUT", "w", "q", "j", "k", "{}", 0)
    c.fails(409, "NOTRUNNING", "POST", "/v1/jobs/j/retry", {"worker": "w"})
    equal(["put"], whats(server, "j"))
    equal({"jids": ["j"]}, c.post("/v1/jobs/j/cancel"))
    server.client().fails(404, "NOJOB", "GET", "/v1/jobs/j")


def events_end_with_the_session(server):
    make_user(server, "alice")
    c, _ = log_in(server)
    reader = server.client()
    reader.headers["Cookie"] = c.headers["Cookie"]
    reader.send("GET", "/v1/events")
    response = reader.connection.getresponse()
    equal("text/event-stream", response.headers["Content-Type"])
    equal(b"retry: 2000\n", response.readline())
    c.post("/v1/logout")
    while response.readline() != b"":
        continue


def find_address():
    """An address of this machine other than loopback, or None."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing
        except OSError:
            return None
        return probe.getsockname()[0]


def protected_mode_needs_a_real_password(server):
    if address is None:
        return
    far = server.client()
    far.connection = http.client.HTTPConnection(address, server.port, timeout=harness.PATIENCE_S)
    make_user(server, "alice")
    make_user(server, "guest", "nopass")
    far.fails(403, "DENIED", "GET", "/v1/me")
    for user in ("default", "guest"):
        far.fails(403, "DENIED", "GET", "/v1/me", headers=harness.basic(user, "x"))
        answer = far.call("POST", "/v1/login", {"user": user, "password": "x"})
        equal((403, "DENIED", None), (answer.status, answer.code, answer.headers["Set-Cookie"]))
    alice = harness.basic("alice", "secret")
    equal("alice", far.ok("GET", "/v1/me", headers=alice)["user"])
    equal({"user": "alice"}, far.post("/v1/login", {"user": "alice", "password": "secret"}))
    server.command("CONFIG", "SET", "protected-mode", "no")
    equal("guest", far.ok("GET", "/v1/me", headers=harness.basic("guest", "x"))["user"])
    server.command("CONFIG", "SET", "protected-mode", "yes")
    far.fails(403, "DENIED", "GET", "/v1/me", headers=harness.basic("guest", "x"))
    server.command("CONFIG", "SET", "requirepass", "secret2")
    equal("guest", far.ok("GET", "/v1/me", headers=harness.basic("guest", "x"))["user"])


address = find_address()
if address is not None:
    protected_mode_needs_a_real_password.options = ("--http-bind", address, "127.0.0.1")


sys.exit(harness.run([
    a_cookie_stands_for_the_user,
    a_logout_ends_the_session,
    servers_at_two_ports_of_a_host_keep_their_cookies_apart,
    a_wrong_password_is_refused_and_counts,
    bodies_of_a_login_have_two_texts,
    a_change_of_the_user_ends_its_sessions,
    a_user_that_logs_in_often_ends_only_its_own_sessions,
    the_user_with_most_sessions_makes_room_for_others,
    a_session_needs_the_password_of_the_server_no_more,
    cookies_that_are_no_token_are_ignored,
    a_user_learns_what_it_may_do,
    a_user_that_may_only_read_learns_of_no_command_that_changes,
    the_history_tells_what_a_user_did_in_the_console,
    the_history_tells_which_failed_jobs_a_user_retried,
    reading_leaves_no_entry,
    the_history_tells_what_a_user_did_to_several_jobs,
    the_history_names_the_user_that_puts_a_job_for_a_worker,
    the_history_tells_which_user_released_a_worker,
    actions_that_take_many_turns_at_once_leave_all_their_entries,
    the_history_is_as_before_without_a_session,
    the_history_survives_a_restart,
    nothing_is_noted_when_a_command_fails,
    events_end_with_the_session,
    protected_mode_needs_a_real_password,
]))
