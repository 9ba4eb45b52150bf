#!/usr/bin/python3
"""The commands of Redis Sentinel at the nodes of a group, and what a node that follows answers.

Writes the Test Anything Protocol.
"""

import os
import signal
import subprocess
import sys
import tempfile
import traceback

from group import GROUP_ID, PATIENCE, Connection, Group, ReplyError, ports, wait_until

# A busy machine must not take the lead from a node while a case looks at it.
ELECTION_MS = 3000
RUN_ID = f"{GROUP_ID[:24]}{{:016x}}"

cases = []


def case(function):
    """The name of the function is the name of the case."""
    cases.append(function)
    return function


def equal(expected, actual):
    assert expected == actual, f"expected {expected!r}, got {actual!r}"


def contains(part, whole):
    assert part in whole, f"{part!r} is not in {whole!r}"


def ask(node, *words):
    connection = Connection(node.port)
    try:
        return connection.ask(*words)
    finally:
        connection.close()


def refusal(node, *words):
    connection = Connection(node.port)
    try:
        return connection.refusal(*words)
    finally:
        connection.close()


def fields(reply):
    """A map of RESP2 as a dictionary."""
    return dict(zip(reply[::2], reply[1::2]))


def free_port():
    reserved = ports.Reserved()
    reserved.close()
    return reserved.port


def three():
    return Group("--replication-election-timeout", str(ELECTION_MS))


def connect(path):
    try:
        return Connection(path)
    except OSError:
        return None


@case
def a_server_alone_does_not_know_the_commands():
    with tempfile.TemporaryDirectory(prefix="qlessd-test-") as directory:
        path = f"{directory}/socket"
        server = subprocess.Popen([os.environ["QLESSD"], "--port", "0", "--unixsocket", path,
                                   "--appendonly", "no", "--loglevel", "warning"])
        try:
            connection = wait_until(lambda: connect(path), "the server answers")
            for words in (("SENTINEL", "MASTERS"), ("SENTINEL",), ("READONLY",), ("READWRITE",)):
                contains(f"ERR unknown command '{words[0]}'", connection.refusal(*words))
            equal(0, len([name for name in connection.ask("COMMAND", "LIST")
                          if name.startswith(("sentinel", "readonly"))]))
            connection.ask("SUBSCRIBE", "ql:log")
            connection.close()
        finally:
            server.kill()
            server.wait()


@case
def a_group_of_one_describes_itself():
    with Group("--replication-name", "jobs", count=1) as group:
        node = group.leader()
        address = ["127.0.0.1", str(node.port)]
        equal(address, ask(node, "SENTINEL", "get-master-addr-by-name", "jobs"))
        equal(None, ask(node, "SENTINEL", "get-master-addr-by-name", "qlessd"))
        master = fields(ask(node, "SENTINEL", "MASTER", "jobs"))
        equal(["jobs", *address, RUN_ID.format(1), "master", "0", "0", "1"],
              [master[name] for name in ("name", "ip", "port", "runid", "flags", "num-slaves",
                                         "num-other-sentinels", "quorum")])
        masters = ask(node, "SENTINEL", "MASTERS")
        equal([master], [fields(one) for one in masters])
        for name in ("REPLICAS", "SLAVES", "SENTINELS"):
            equal([], ask(node, "SENTINEL", name, "jobs"))
        for name in ("MASTER", "REPLICAS", "SLAVES", "SENTINELS", "CKQUORUM"):
            equal("ERR No such master with that name", refusal(node, "SENTINEL", name, "other"))
        equal(RUN_ID.format(1), ask(node, "SENTINEL", "MYID"))
        contains("OK 1 usable Sentinels", ask(node, "SENTINEL", "CKQUORUM", "jobs"))
        contains("unknown subcommand 'FAILOVER'", refusal(node, "SENTINEL", "FAILOVER", "jobs"))
        contains("wrong number of arguments", refusal(node, "SENTINEL", "MASTER"))


@case
def a_name_or_an_address_that_clients_cannot_use_stops_the_start():
    for directive, value, complaint in (
            ("name", "two words", "replication-name 'two words' is not one word"),
            ("announce", "10.0.0.1", "replication-announce '10.0.0.1' is not an address such as"),
            ("announce", "10.0.0.1:0", "replication-announce '10.0.0.1:0' is not")):
        with tempfile.TemporaryDirectory(prefix="qlessd-test-") as directory:
            result = subprocess.run(
                [os.environ["QLESSD"], "--dir", directory, "--port", "0", "--unixsocket",
                 f"{directory}/socket", "--replication-id", "1", "--replication-port",
                 str(free_port()), f"--replication-{directive}", value, "--begin-group"],
                capture_output=True, text=True, timeout=PATIENCE, check=False)
            equal(1, result.returncode)
            contains(complaint, result.stdout + result.stderr)


@case
def every_node_tells_about_all_of_them():
    with three() as group:
        leader, _ = group.agree()
        for node in group.nodes:
            connection = Connection(node.port)
            connection.ask("HELLO", "3")
            wait_until(lambda: len(connection.ask("SENTINEL", "SENTINELS", "qlessd")) == 2,
                       "the nodes have told each other their addresses")
            master = connection.ask("SENTINEL", "MASTER", "qlessd")
            equal(["127.0.0.1", str(leader.port), "2", "2"],
                  [master[name] for name in ("ip", "port", "num-other-sentinels", "quorum")])
            for kind, flag, left_out in (("REPLICAS", "slave", leader),
                                         ("SENTINELS", "sentinel", node)):
                expected = {(RUN_ID.format(other.number), str(other.port), flag)
                            for other in group.nodes if other is not left_out}
                equal(expected, {(one["runid"], one["port"], one["flags"])
                                 for one in connection.ask("SENTINEL", kind, "qlessd")})
            equal(RUN_ID.format(node.number), connection.ask("SENTINEL", "MYID"))
            connection.close()


@case
def a_lost_node_is_down_and_without_a_majority_there_is_no_quorum():
    with three() as group:
        leader, (one, other) = group.agree()
        one.kill()

        def flags():
            return {node["flags"] for node in map(fields, ask(leader, "SENTINEL", "REPLICAS",
                                                              "qlessd"))}
        wait_until(lambda: flags() == {"slave", "slave,s_down,disconnected"},
                   "the leader notices the loss")
        contains("OK 2 usable", ask(leader, "SENTINEL", "CKQUORUM", "qlessd"))
        other.kill()
        wait_until(lambda: "NOQUORUM 1 usable" in quorum(leader), "there is no quorum")
        wait_until(lambda: masters(leader) == [], "the leader has ceased to lead")
        equal(None, ask(leader, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", "qlessd"))
        equal("MASTERDOWN no leader is known", refusal(leader, "SENTINEL", "MASTER", "qlessd"))
        equal("MASTERDOWN no leader is known", refusal(leader, "PUT", "w", "q", "j", "k", "{}", 0))


def quorum(node):
    try:
        return ask(node, "SENTINEL", "CKQUORUM", "qlessd")
    except ReplyError as error:
        return str(error)
    except OSError:
        return ""


def masters(node):
    try:
        return ask(node, "SENTINEL", "MASTERS")
    except OSError:
        return None


@case
def a_follower_answers_about_connections_and_refuses_the_rest():
    with three() as group:
        leader, followers = group.agree()
        line = f"READONLY the leader is {leader.address}"
        for node in followers:
            connection = Connection(node.port)
            equal("PONG", connection.ask("PING"))
            equal("OK", connection.ask("CLIENT", "SETNAME", "c"))
            equal("OK", connection.ask("SELECT", 0))
            equal("slave", connection.ask("ROLE")[0])
            for words in (("GET", "j"), ("PUT", "w", "q", "j", "k", "{}", 0),
                          ("QLESS", "get", 1, "j"), ("POP", "q", "w", 1), ("KEYS", "*"),
                          ("SCRIPT", "LOAD", "return 1"), ("ACL", "SETUSER", "u"),
                          ("SUBSCRIBE", "ql:log"), ("PSUBSCRIBE", "*"), ("PUBLISH", "c", "m"),
                          ("FLUSHALL",)):
                equal(line, connection.refusal(*words))
            equal("replica", fields(connection.ask("HELLO", "2"))["role"])
            # As node-redis does it.
            equal("psubscribe", connection.ask("PSUBSCRIBE", "switch-master", "[-+]sdown",
                                               "+slave")[0])
            connection.close()
        equal("ERR only the server publishes on the channel '+switch-master'",
              refusal(leader, "PUBLISH", "+switch-master", "qlessd 127.0.0.1 1 127.0.0.1 2"))


@case
def a_readonly_connection_reads_from_a_follower_and_changes_nothing():
    with three() as group:
        leader, followers = group.agree()
        line = f"READONLY the leader is {leader.address}"
        ask(leader, "PUT", "w", "q", "j", "k", "{}", 0)
        ask(leader, "PUT", "w", "q", "late", "k", "{}", 0.01)
        for node in followers:
            connection = Connection(node.port)
            equal(line, connection.refusal("GET", "j"))
            equal("OK", connection.ask("READONLY"))
            wait_until(lambda: connection.ask("GET", "late") is not None, "the jobs arrive")
            contains('"jid":"j"', connection.ask("GET", "j"))
            contains('"jid":"j"', connection.ask("PEEK", "q", 2))
            contains('"name":"q"', connection.ask("QUEUES"))
            contains('"jobs":', connection.ask("TRACK"))
            for words in (("POP", "q", "w", 1), ("PUT", "w", "q", "x", "k", "{}", 0),
                          ("TRACK", "track", "j"), ("BPOP", 0, "w", 1, "q"),
                          ("QLESS", "put", 1, "w", "q", "x", "k", "{}", 0),
                          ("SUBSCRIBE", "ql:log")):
                equal(line, connection.refusal(*words))
            connection.ask("MULTI")
            equal(line, connection.refusal("POP", "q", "w", 1))
            contains("EXECABORT", connection.refusal("EXEC"))
            equal("OK", connection.ask("READWRITE"))
            equal(line, connection.refusal("GET", "j"))
            connection.ask("READONLY")
            connection.ask("RESET")
            equal(line, connection.refusal("GET", "j"))
            connection.close()
        equal(leader, group.leader())
        contains('"jid":"j"', ask(leader, "POP", "q", "w", 1))


@case
def every_node_publishes_the_address_of_a_new_leader():
    with three() as group:
        old, followers = group.agree()
        listeners = [Connection(node.port, timeout=PATIENCE) for node in followers]
        for listener in listeners:
            equal(["subscribe", "+switch-master", 1],
                  listener.ask("SUBSCRIBE", "+switch-master"))
        old.kill()
        new = group.leader(other_than=old)
        for listener in listeners:
            kind, channel, text = listener.read()
            equal(("message", "+switch-master"), (kind, channel))
            equal(f"qlessd 127.0.0.1 {old.port} 127.0.0.1 {new.port}", text)
            listener.close()


@case
def a_node_that_ceases_to_lead_closes_the_connections_of_its_clients():
    with three() as group:
        old, _ = group.agree()
        connection = Connection(old.port, timeout=PATIENCE)
        connection.ask("SUBSCRIBE", "ql:log")
        old.signal(signal.SIGSTOP)
        wait_until(lambda: any(node.leads() for node in group.nodes if node is not old),
                   "another node leads")
        old.signal(signal.SIGCONT)
        equal(b"", connection.file.read())
        connection.close()


def main():
    names = [name for name in cases if os.environ.get("ONLY", "") in name.__name__]
    print(f"1..{len(names)}", flush=True)
    failed = 0
    for number, function in enumerate(names, 1):
        outcome = "ok"
        try:
            function()
        except Exception:
            traceback.print_exc()
            outcome = "not ok"
            failed = 1
        print(f"{outcome} {number} - {function.__name__.replace('_', ' ')}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
