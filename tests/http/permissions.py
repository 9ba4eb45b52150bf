"""The rights of users over HTTP: those of the command, and those of the queues that a request names."""

import base64
import sys

import harness
from harness import contains, equal


def add_users(server):
    server.command("ACL", "SETUSER", "mail", "on", ">secret", "~mail*", "+@all")
    server.command("ACL", "SETUSER", "reader", "on", ">secret2", "~*", "+@read", "+acl|whoami")
    server.command("ACL", "SETUSER", "off", "off", ">secret3", "~*", "+@all")


def a_user_has_only_the_queues_of_its_patterns(server):
    add_users(server)
    admin, mail = server.client(), server.client("mail", "secret")
    admin.post("/v1/queues/bank/jobs", {"jid": "b", "class": "k", "data": {}}, status=201)
    mail.post("/v1/queues/mail1/jobs", {"jid": "m", "class": "k", "data": {}}, status=201)
    equal("m", mail.get("/v1/jobs/m")["jid"])
    equal(["mail1"], [queue["name"] for queue in mail.get("/v1/queues")])
    equal(["m"], [job["jid"] for job in mail.get("/v1/jobs?jid=m&jid=b")])
    equal([], mail.get("/v1/search?prefix=b")["jobs"])
    for method, path, body in (
            ("GET", "/v1/queues/bank", None),
            ("GET", "/v1/queues/bank/jobs", None),
            ("GET", "/v1/jobs/b", None),
            ("GET", "/v1/stats/bank", None),
            ("POST", "/v1/queues/bank/jobs", {"class": "k", "data": 1}),
            ("POST", "/v1/queues/bank/jobs", [{"class": "k", "data": 1}]),
            ("POST", "/v1/queues/bank/pop", {"worker": "w"}),
            ("POST", "/v1/queues/bank/pop", {"worker": "w", "timeout": 1}),
            ("POST", "/v1/pop", {"worker": "w", "queues": ["mail1", "bank"]}),
            ("POST", "/v1/queues/bank/pause", None),
            ("POST", "/v1/jobs/b/cancel", None),
            ("POST", "/v1/jobs/b/priority", {"priority": 1}),
            ("POST", "/v1/jobs/m/requeue", {"queue": "bank"}),
            ("PUT", "/v1/options/bank-heartbeat", {"value": 5})):
        mail.fails(403, "NOPERM", method, path, body)
    equal("waiting", admin.get("/v1/jobs/b")["state"])
    equal("mail1", admin.get("/v1/jobs/m")["queue"])


def what_a_user_may_not_read_cannot_be_requeued_to_where_it_may(server):
    server.command("ACL", "SETUSER", "clerk", "on", ">secret", "%W~bank", "%RW~mail", "+@all")
    admin, clerk = server.client(), server.client("clerk", "secret")
    admin.post("/v1/queues/bank/jobs", {"jid": "b", "class": "k", "data": "secret"}, status=201)
    clerk.fails(404, "NOJOB", "POST", "/v1/jobs/b/requeue", {"queue": "mail"})
    equal("bank", admin.get("/v1/jobs/b")["queue"])


def a_request_without_its_user_is_refused(server):
    """The user is deleted while the body is on its way."""
    add_users(server)
    server.client().post("/v1/queues/mail/jobs", {"jid": "j", "class": "k", "data": 1}, status=201)
    mail, body = server.client("mail", "secret"), b'{"queue": "mail2"}'
    mail.connection.putrequest("POST", "/v1/jobs/j/requeue")
    mail.connection.putheader("Authorization", mail.headers["Authorization"])
    mail.connection.putheader("Content-Type", "application/json")
    mail.connection.putheader("Content-Length", str(len(body)))
    mail.connection.endheaders()
    mail.connection.send(body[:5])
    harness.wait_until(lambda: "user=mail" in server.command("CLIENT", "LIST").decode())
    server.command("ACL", "DELUSER", "mail")
    try:
        mail.connection.send(body[5:])
        equal(401, mail.receive().status)
    except OSError:
        pass  # the connection ends with its user
    equal("mail", server.client().get("/v1/jobs/j")["queue"])


def a_user_without_a_command_cannot_run_it(server):
    add_users(server)
    server.client().post("/v1/queues/q/jobs", {"jid": "j", "class": "k", "data": {}}, status=201)
    reader = server.client("reader", "secret2")
    equal({"user": "reader"}, reader.get("/v1/acl/whoami"))
    equal("j", reader.get("/v1/jobs/j")["jid"])
    contains("'put'", reader.fails(403, "NOPERM", "POST", "/v1/queues/q/jobs",
                                   {"class": "k", "data": 1}))
    reader.fails(403, "NOPERM", "POST", "/v1/queues/q/pop", {"worker": "w"})
    reader.fails(403, "NOPERM", "DELETE", "/v1/jobs/j")
    reader.fails(403, "NOPERM", "GET", "/v1/slowlog")
    reader.fails(403, "NOPERM", "GET", "/v1/queues?db=1")


def a_wrong_password_is_refused(server):
    add_users(server)
    for name, password in (("mail", "wrong"), ("nobody", "secret"), ("off", "secret3")):
        client = server.client(name, password)
        client.fails(401, "WRONGPASS", "GET", "/v1/queues")


def a_password_alone_is_a_bearer_token(server):
    add_users(server)
    c = server.client()
    equal({"user": "mail"}, c.get("/v1/acl/whoami", headers={"Authorization": "Bearer secret"}))
    equal({"user": "default"}, c.get("/v1/acl/whoami"))
    equal(401, c.call("GET", "/v1/queues", headers={"Authorization": "Bearer no"}).status)


def nothing_is_done_without_a_user(server):
    server.command("ACL", "SETUSER", "default", "resetpass", ">pass")
    c = server.client()
    for method, path in (("GET", "/v1/queues"), ("POST", "/v1/queues/q/pause"),
                         ("GET", "/v1/nothing")):
        c.fails(401, "NOAUTH", method, path)
    token = base64.b64encode(b"default:pass").decode()
    equal([], c.get("/v1/queues", headers={"Authorization": f"Basic {token}"}))


def a_put_names_its_user_in_the_history(server):
    add_users(server)
    mail = server.client("mail", "secret")
    key = {"Idempotency-Key": "k"}
    body = {"class": "k", "data": 1}
    jid = mail.post("/v1/queues/mail/jobs", body, status=201, headers=key)["jid"]
    equal("idempotency:4:mail:k", mail.get("/v1/jobs/" + jid)["unique"]["key"])
    # The key of one user is not that of another.
    other = server.client().post("/v1/queues/mail/jobs", body, status=201, headers=key)["jid"]
    equal(True, other != jid)


def a_wait_ends_when_its_user_loses_the_right(server):
    add_users(server)
    waiting, admin = server.client("mail", "secret"), server.client()
    waiting.send("POST", "/v1/queues/mail/pop", {"worker": "w", "timeout": 60})
    harness.wait_until(lambda: admin.get("/v1/info?section=clients")
                       ["clients"]["blocked_clients"] == 1)
    server.command("ACL", "SETUSER", "mail", "resetkeys")
    answer = waiting.receive()
    equal((403, "NOPERM"), (answer.status, answer.code))


def a_pause_of_clients_holds_requests_back(server):
    c, other = server.client(), server.client()
    server.command("CLIENT", "PAUSE", "100000", "WRITE")
    equal([], other.get("/v1/queues"))
    c.send("POST", "/v1/queues/q/jobs", {"jid": "j", "class": "k", "data": {}})
    equal([], other.get("/v1/queues"))
    server.command("CLIENT", "UNPAUSE")
    equal({"jid": "j"}, c.receive().json)
    equal("j", other.get("/v1/jobs/j")["jid"])


def requests_count_as_commands(server):
    c = server.client()
    server.command("CONFIG", "RESETSTAT")
    for i in range(5):
        c.post("/v1/queues/q/jobs", {"jid": f"j{i}", "class": "k", "data": {}}, status=201)
    c.fails(409, "NOTRUNNING", "POST", "/v1/jobs/j1/heartbeat", {"worker": "w"})
    c.fails(400, "BADARG", "POST", "/v1/jobs/j1/heartbeat", {"x": 1})
    info = c.get("/v1/info?section=commandstats&section=errorstats")
    equal(5, info["commandstats"]["cmdstat_put"]["calls"])
    equal(1, info["commandstats"]["cmdstat_heartbeat"]["failed_calls"])
    equal({"count": 1}, info["errorstats"]["errorstat_NOTRUNNING"])
    equal({"count": 1}, info["errorstats"]["errorstat_BADARG"])


def puts_survive_a_restart(server):
    c = server.client()
    c.post("/v1/queues/q/jobs", {"jid": "j", "class": "k", "data": [1]}, status=201)
    c.close()
    server.process.terminate()
    equal(0, server.process.wait(harness.PATIENCE_S))
    server.start()
    equal([1], server.client().get("/v1/jobs/j")["data"])


puts_survive_a_restart.options = ("--appendfsync", "always")

sys.exit(harness.run([
    a_user_has_only_the_queues_of_its_patterns,
    what_a_user_may_not_read_cannot_be_requeued_to_where_it_may,
    a_request_without_its_user_is_refused,
    a_user_without_a_command_cannot_run_it,
    a_wrong_password_is_refused,
    a_password_alone_is_a_bearer_token,
    nothing_is_done_without_a_user,
    a_put_names_its_user_in_the_history,
    a_wait_ends_when_its_user_loses_the_right,
    a_pause_of_clients_holds_requests_back,
    requests_count_as_commands,
    puts_survive_a_restart,
]))
