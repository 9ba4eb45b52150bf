#!/usr/bin/python3
"""Endpoints over TLS: which certificates the server trusts."""

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


run([
    a_certificate_of_the_ca_file_is_trusted,
    a_certificate_of_an_unknown_ca_is_refused,
    a_certificate_that_signs_itself_is_refused,
    a_certificate_of_another_host_is_refused,
    an_endpoint_without_tls_is_refused,
    the_ca_file_can_change_while_the_server_runs,
])
