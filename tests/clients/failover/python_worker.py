"""A worker of qlessd_worker.py, for workers.py."""

from qlessd_worker import Worker

worker = Worker(queues=["q"])


@worker.on("Work")
def work(job):
    pass


worker.run()
