"""A worker for qlessd with qlessd_worker.py. It greets people, which takes some seconds."""

import time

from qlessd_worker import JobLost, Worker

worker = Worker(queues=["urgent", "greetings"])


@worker.on("Greet")
def greet(job):
    if "name" not in job.data:
        job.fail("bad-data", "there is no name")
        return
    time.sleep(job.data.get("seconds", 0))  # the server keeps the lock
    try:
        job.check()
    except JobLost as lost:  # somebody took the job away
        print(f"{job.jid}: {lost}", flush=True)
        raise
    print("hello", job.data["name"], flush=True)


worker.run()
