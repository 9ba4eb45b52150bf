#!/usr/bin/python3
"""Endpoints whose host has a name that is searched for without end."""

import os
import pathlib
import sys

import redis

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lib"))

from endpoint import Endpoint, response
from harness import PATIENCE_S, equal, run, wait_until


def begin(server):
    """Start with an endpoint whose host has no address, and may never have one."""
    options = os.environ.get("ASAN_OPTIONS", "")
    server.environment["ASAN_OPTIONS"] = options + ":verify_asan_link_order=0"
    server.environment["LD_PRELOAD"] = os.environ["STUCK_NAMES"]
    server.start()
    # A server that waits for the name answers no command either.
    server.db = redis.Redis(unix_socket_path=server.socket, socket_timeout=PATIENCE_S)
    server.set("stuck", "http://stuck.test/", "TIMEOUT", "0.1")


def a_search_without_end_takes_the_time_of_the_endpoint(server):
    begin(server)
    server.put("j", options=("retries", 0))
    wait_until(lambda: server.state("j") == "failed")
    equal("http-timeout", server.job("j")["failure"]["group"])


def other_endpoints_get_their_jobs_meanwhile(server):
    begin(server)
    server.set("stuck", "http://stuck.test/", "TIMEOUT", "1000")
    endpoint = Endpoint(lambda _: response(200, b"1"))
    server.set("e", endpoint.url(), queues=("other",))
    server.put("j")
    wait_until(lambda: server.status("stuck")["running"] == 1)
    server.put("k", queue="other")
    wait_until(lambda: server.state("k") == "complete")
    equal("running", server.state("j"))


def a_deleted_endpoint_does_not_wait_for_its_name(server):
    begin(server)
    server.set("stuck", "http://stuck.test/", "TIMEOUT", "1000")
    server.put("j")
    wait_until(lambda: server.status("stuck")["running"] == 1)
    equal(1, server.call("ENDPOINT.DELETE", "stuck"))
    equal(True, server.db.ping())


def the_end_of_the_server_does_not_wait_for_a_name(server):
    begin(server)
    server.set("stuck", "http://stuck.test/", "TIMEOUT", "1000")
    server.put("j")
    wait_until(lambda: server.status("stuck")["running"] == 1)
    server.stop()


run([
    a_search_without_end_takes_the_time_of_the_endpoint,
    other_endpoints_get_their_jobs_meanwhile,
    a_deleted_endpoint_does_not_wait_for_its_name,
    the_end_of_the_server_does_not_wait_for_a_name,
])
