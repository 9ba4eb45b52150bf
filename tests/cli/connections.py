"""Addresses, users, TLS and lost connections of qless."""

import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "lib"))
from ports import Reserved  # noqa: E402

from harness import (PORT, QLESS, as_json, call, contains, environment, equal, put, qless, run,
                     wait_until)

TLS_PORT = os.environ["QLESSD_TLS_PORT"]
TLS_DIR = os.environ["QLESSD_TLS_DIR"]


def nowhere(**changes):
    """An environment that names no server."""
    env = environment(**changes)
    if "QLESSD_URL" not in changes:
        del env["QLESSD_URL"]
    return env


def the_address_has_many_spellings():
    put("mail", "j1")
    for words in (["-p", str(PORT)], ["-h", "127.0.0.1", "--port", str(PORT)],
                  ["-u", f"redis://127.0.0.1:{PORT}/0"], [f"--uri=redis://127.0.0.1:{PORT}"]):
        equal(["mail"], qless("queues", "-q", *words, env=nowhere()).lines)
        equal(["mail"], qless(*words, "queues", "-q", env=nowhere()).lines)
    equal(["mail"], qless("queues", "-q", env=nowhere(QLESSD_URL=f"127.0.0.1:{PORT}")).lines)


def no_server_is_an_exit_code_of_its_own():
    free = Reserved()
    port = str(free.port)
    result = qless("queues", "-p", port, expect=3)
    equal(f"qless: 127.0.0.1:{port}: cannot connect: Connection refused\n", result.err)
    equal("", result.out)
    for words in (["top"], ["tail"], ["put", "mail", "Send"], ["call", "PING"],
                  ["retry", "j1"], ["jobs", "mail"], ["workers"], ["limits"], ["wait", "j1"]):
        contains("cannot connect", qless("-p", port, *words, expect=3).err)
    contains("/tmp/no-such-socket: cannot connect: No such file",
             qless("queues", "-s", "/tmp/no-such-socket", expect=3).err)
    free.close()


def users_log_in():
    call("ACL", "SETUSER", "ann", "on", ">secret", "~mail*", "+@operator", "&*")
    put("mail", "j1")
    put("other", "o1")
    equal(["mail"], qless("queues", "-q", "--user", "ann", "--pass", "secret").lines)
    env = environment(QLESSCLI_AUTH="secret")
    equal("", qless("queues", "--user", "ann", env=env).err)
    equal(["mail"], qless("queues", "-q", "--user", "ann", env=env).lines)
    uri = f"redis://ann:secret@127.0.0.1:{PORT}"
    equal(["mail"], qless("queues", "-q", "-u", uri).lines)
    contains("NOPERM", qless("jobs", "other", "--user", "ann", env=env, expect=1).err)
    call("ACL", "DELUSER", "ann")


def a_wrong_password_is_refused():
    call("ACL", "SETUSER", "ann", "on", ">secret", "~*", "+@all")
    result = qless("queues", "--user", "ann", "-a", "wrong", "--no-auth-warning", expect=3)
    contains("the server refuses the login: WRONGPASS", result.err)
    assert "wrong" not in result.err.replace("WRONGPASS", "")
    call("ACL", "DELUSER", "ann")


def a_password_among_the_arguments_is_a_warning():
    call("ACL", "SETUSER", "ann", "on", ">secret", "~*", "+@all")
    words = ["queues", "--user", "ann", "-a", "secret"]
    contains("qless: warning: other users of this machine can read a password", qless(*words).err)
    equal("", qless(*words, "--no-auth-warning").err)
    assert "secret" not in qless(*words).err
    call("ACL", "DELUSER", "ann")


def a_user_without_info_sees_queues():
    call("ACL", "SETUSER", "ann", "on", ">secret", "~*", "+queues", "+hello", "+client|setname")
    put("mail", "j1")
    result = qless("queues", "--user", "ann", env=environment(QLESSCLI_AUTH="secret"))
    contains("mail", result.out)
    equal("", result.err)
    (queue,) = as_json("queues", "--user", "ann", env=environment(QLESSCLI_AUTH="secret"))
    equal((1, None, None), (queue["waiting"], queue["failed"], queue["oldest-wait"]))
    call("ACL", "DELUSER", "ann")


def tls_verifies_the_server():
    put("mail", "j1")
    ca = f"{TLS_DIR}/ca.crt"
    identity = ["--cert", f"{TLS_DIR}/client.crt", "--key", f"{TLS_DIR}/client.key"]
    words = ["queues", "-q", "-p", TLS_PORT, *identity]
    equal(["mail"], qless(*words, "--tls", "--cacert", ca).lines)
    equal(["mail"], qless(*words, "--tls", "--insecure").lines)
    uri = f"rediss://127.0.0.1:{TLS_PORT}"
    equal(["mail"], qless("queues", "-q", "-u", uri, "--cacert", ca, *identity).lines)
    contains("the certificate of the server is not valid", qless(*words, "--tls", expect=3).err)
    contains("hostname mismatch", qless(*words, "--tls", "--cacert", ca, "--sni", "other.example",
                                        expect=3).err)
    qless("queues", "-p", TLS_PORT, "--tls", "--cacert", ca, expect=3)
    contains("cannot load the trusted certificates of /no/file",
             qless(*words, "--tls", "--cacert", "/no/file", expect=3).err)


def wrong_addresses_are_usage_errors():
    contains("--port must be a number from 1 to 65535, not 'x'",
             qless("queues", "-p", "x", expect=2).err)
    contains("the URI does not begin with", qless("queues", "-u", "http://x", expect=2).err)
    contains("QLESSD_URL", qless("queues", env=nowhere(QLESSD_URL="http://x"), expect=2).err)


def askpass_needs_a_terminal():
    script = "import os, sys; os.setsid(); os.execv(sys.argv[1], sys.argv[1:])"
    process = subprocess.run([sys.executable, "-c", script, QLESS, "queues", "--askpass"],
                             stdin=subprocess.DEVNULL, capture_output=True, env=environment())
    equal(2, process.returncode)
    contains("there is no terminal to ask for the password", process.stderr.decode())


def tail_connects_again():
    tail = subprocess.Popen([QLESS, "tail", "--json"], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, env=environment())
    wait_until(lambda: call("PUBSUB", "NUMSUB", "ql:log")[1] == 1)
    call("CLIENT", "KILL", "TYPE", "pubsub")
    contains(b"the connection failed: ", tail.stderr.readline())
    contains(b"events until then are not shown", tail.stderr.readline())
    equal(b"qless: connected\n", tail.stderr.readline())
    wait_until(lambda: call("PUBSUB", "NUMSUB", "ql:log")[1] == 1)
    put("mail", "j1")
    contains(b'"jid":"j1"', tail.stdout.readline())
    tail.kill()
    tail.communicate()


def wait_survives_a_lost_connection():
    put("mail", "j1")
    wait = subprocess.Popen([QLESS, "wait", "j1", "--json"], stdout=subprocess.PIPE,
                            env=environment())
    wait_until(lambda: b"cmd=job.wait" in call("CLIENT", "LIST"))
    first = [line for line in call("CLIENT", "LIST").splitlines() if b"cmd=job.wait" in line]
    number = first[0].split()[0].split(b"=")[1]
    call("CLIENT", "KILL", "ID", number)
    wait_until(lambda: b"cmd=job.wait" in call("CLIENT", "LIST"))
    call("POP", "mail", "w1", 1)
    call("COMPLETE", "j1", "w1", "mail", "{}")
    contains(b'"complete"', wait.communicate()[0])
    equal(0, wait.returncode)


if __name__ == "__main__":
    sys.exit(run([
        the_address_has_many_spellings,
        no_server_is_an_exit_code_of_its_own,
        users_log_in,
        a_wrong_password_is_refused,
        a_password_among_the_arguments_is_a_warning,
        a_user_without_info_sees_queues,
        tls_verifies_the_server,
        wrong_addresses_are_usage_errors,
        askpass_needs_a_terminal,
        tail_connects_again,
        wait_survives_a_lost_connection,
    ]))
