#!/usr/bin/python3
"""Endpoints over TLS: which certificates the server trusts, and HTTP/2."""

import contextlib
import os
import ssl
import subprocess

from endpoint import Endpoint, response
from harness import contains, equal, run, wait_until


def make_certificate(directory, name, host, signer=None):
    """Make <name>.crt and <name>.key, signed by another one, or by itself."""
    base = os.path.join(directory, name)
    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
             "-nodes", "-days", "30", "-keyout", base + ".key", "-out", base + ".crt", "-subj",
             "/CN=" + name, "-addext", "subjectAltName=" + host]
    if signer is not None:
        words += ["-CA", os.path.join(directory, signer + ".crt"), "-CAkey",
                  os.path.join(directory, signer + ".key"), "-addext",
                  "basicConstraints=critical,CA:FALSE"]
    subprocess.run(words, check=True, capture_output=True)
    return base


def begin(server, host="IP:127.0.0.1", signer="ca"):
    make_certificate(server.directory, "ca", "DNS:ca.example.org")
    base = make_certificate(server.directory, "server", host, signer)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(base + ".crt", base + ".key")
    return Endpoint(lambda _: response(200, b"secret"), context)


def with_ca(server, *arguments):
    server.start("--push-ca-cert-file", os.path.join(server.directory, "ca.crt"), *arguments)


def refuses_to_post(server, endpoint, reason):
    server.set("e", endpoint.url())
    server.put("j1", options=("retries", 0))
    wait_until(lambda: server.state("j1") == "failed")
    equal("http-lost", server.job("j1")["failure"]["group"])
    contains(reason, server.job("j1")["failure"]["message"])
    contains(reason, server.status("e")["last-error"])
    equal([], endpoint.requests)


def a_certificate_of_the_ca_file_is_trusted(server):
    endpoint = begin(server)
    with_ca(server)
    server.set("e", endpoint.url())
    server.put("j1")
    wait_until(lambda: server.state("j1") == "complete")
    equal("secret", server.job("j1")["result"])
    equal(1, len(endpoint.requests))


def a_certificate_of_an_unknown_ca_is_refused(server):
    endpoint = begin(server)
    server.start()
    refuses_to_post(server, endpoint, "certificate")


def a_certificate_that_signs_itself_is_refused(server):
    endpoint = begin(server, signer=None)
    with_ca(server)
    refuses_to_post(server, endpoint, "certificate")


def a_certificate_of_another_host_is_refused(server):
    endpoint = begin(server, host="DNS:other.example.org")
    with_ca(server)
    refuses_to_post(server, endpoint, "127.0.0.1")


def an_endpoint_without_tls_is_refused(server):
    endpoint = Endpoint(lambda _: response(200))
    server.start()
    server.set("e", endpoint.url().replace("http:", "https:"))
    server.put("j1", options=("retries", 0))
    wait_until(lambda: server.state("j1") == "failed")
    equal("http-lost", server.job("j1")["failure"]["group"])


def the_ca_file_can_change_while_the_server_runs(server):
    endpoint = begin(server)
    server.start()
    refuses_to_post(server, endpoint, "certificate")
    server.db.config_set("push-ca-cert-file", os.path.join(server.directory, "ca.crt"))
    server.put("j2")
    wait_until(lambda: server.state("j2") == "complete")


@contextlib.contextmanager
def endpoint_of_http2(server):
    """The port of a process that offers HTTP/2."""
    begin(server).close()
    base = os.path.join(server.directory, "server")
    script = os.path.join(os.path.dirname(__file__), "endpoint2.mjs")
    with subprocess.Popen(["node", script, base + ".crt", base + ".key"],
                          stdout=subprocess.PIPE) as process:
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()


def every_request_to_an_endpoint_of_http2_gets_its_answer(server):
    """Also if headers and bodies do not fit into one read, or many answers arrive together. A request
    that misses the end of its answer would fail its job."""
    with endpoint_of_http2(server) as port:
        with_ca(server)
        for size in (0, 1000, 30000):
            for number in range(20):
                server.put(f"{size}-{number}", options=("retries", 0))
            server.set("e", f"https://127.0.0.1:{port}/{size}", "concurrency", 8, "timeout", 20)
            for number in range(20):
                jid = f"{size}-{number}"
                wait_until(lambda: server.state(jid) in ("complete", "failed"))
                job = server.job(jid)
                equal(("complete", ""), (job["state"], job["failure"].get("message", "")))
                equal(size + 3, len(job["result"]))
            server.call("ENDPOINT.DELETE", "e")


run([
    a_certificate_of_the_ca_file_is_trusted,
    a_certificate_of_an_unknown_ca_is_refused,
    a_certificate_that_signs_itself_is_refused,
    a_certificate_of_another_host_is_refused,
    an_endpoint_without_tls_is_refused,
    the_ca_file_can_change_while_the_server_runs,
    every_request_to_an_endpoint_of_http2_gets_its_answer,
])
