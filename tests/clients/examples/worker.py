"""A worker for qlessd with redis-py. It first puts two jobs to work on."""

import json
import os

import redis

NAME = f"worker-{os.getpid()}"
LOST = ("NOTRUNNING", "NOTOWNER", "WRONGQUEUE", "NOJOB")

qlessd = redis.Redis(port=int(os.environ.get("QLESSD_PORT", "7537")), decode_responses=True)
call = qlessd.execute_command


def work(job):
    data = json.loads(job["data"])
    call("HEARTBEAT", job["jid"], NAME)  # between the steps of a long job
    print("hello", data["name"])


call("PUT", NAME, "greetings", "j1", "Greet", json.dumps({"name": "ann"}), 0)
call("PUT", NAME, "greetings", "j2", "Greet", "{}", 0)

while jobs := json.loads(call("POP", "greetings", NAME, 1)):  # a real worker would wait for more
    for job in jobs:
        try:
            try:
                work(job)
            except KeyError:
                call("FAIL", job["jid"], NAME, "bad-data", "there is no name")
                print("failed", job["jid"])
            else:
                print(call("COMPLETE", job["jid"], NAME, "greetings", job["data"]))
        except redis.ResponseError as error:
            if not str(error).startswith(LOST):
                raise
            print("lost", job["jid"])  # another worker has it by now
