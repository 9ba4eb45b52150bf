"""redis-py: puts jobs through its Sentinel support, for failover.py."""

import itertools
import os
import time

import redis
import redis.sentinel

NODES = [node.rsplit(":", 1) for node in os.environ["QLESSD_NODES"].split(",")]

sentinel = redis.sentinel.Sentinel(NODES, socket_timeout=2)
master = sentinel.master_for("qlessd", socket_timeout=2)

for number in itertools.count():
    while True:
        try:
            master.execute_command("PUT", "w", "q", f"j{number}", "klass", "{}", "0")
            break
        except (redis.ConnectionError, redis.TimeoutError) as error:
            print("error", type(error).__name__, error, flush=True)
            time.sleep(0.01)
    print("ok", f"j{number}", flush=True)
    time.sleep(0.002)
