#!/usr/bin/python3
"""Put a server under load, and check that it lost nothing; see DRILLS in qlessd-operations(7).

    drill.py load BOOK SECONDS       put, pop and complete jobs, and enter in BOOK which requests were
                                     sent and acknowledged; go on through restarts and full disks
    drill.py check BOOK              check that the server has everything that was acknowledged
    drill.py check BOOK BEGIN END    check a backup that was made between these times, in seconds
                                     since 1970 (date +%s)

The server is on 127.0.0.1, at the port QLESSD_PORT or 7537. A server purges completed jobs above
jobs-history-count: `load` raises this option and does not reset it.
"""
import json
import os
import sys
import threading
import time

import redis

WORKERS = 8
BATCH = 500
NEVER = float("inf")


def connect():
    return redis.Redis(host="127.0.0.1", port=int(os.environ.get("QLESSD_PORT", "7537")),
                       decode_responses=True)


class Book:
    def __init__(self, path):
        self.file = open(path, "a", buffering=1)
        self.lock = threading.Lock()
        self.counts = {"acknowledged": 0, "refused": 0, "lost connections": 0}

    def count(self, what):
        with self.lock:
            self.counts[what] += 1

    def enter(self, *words):
        with self.lock:
            self.file.write(f"{time.time():.6f} {' '.join(words)}\n")


def send(book, client, operation, jid, *command):
    """The reply, or None if the connection broke or the server refused."""
    book.enter("sent", operation, jid)
    try:
        reply = client.execute_command(*command)
    except redis.ConnectionError:  # so is LOADING
        book.count("lost connections")
        time.sleep(0.05)
        return None
    except redis.ResponseError as error:
        if str(error).startswith("MISCONF"):
            book.count("refused")
            time.sleep(0.2)
        return None
    book.enter("acknowledged", operation, jid)
    book.count("acknowledged")
    return reply


def work(book, number, end):
    client, name, queue = connect(), f"drill-{number}", f"drill-{number % 3}"
    begin, n = int(time.time()), 0
    while time.time() < end:
        jid = f"drill-{begin}-{number}-{n}"
        n += 1
        send(book, client, "put", jid, "PUT", name, queue, jid, "Drill", "{}", 0)
        if n % 4 == 0:
            continue  # leave some jobs waiting
        jobs = send(book, client, "pop", "-", "POP", queue, name, 1)
        for job in json.loads(jobs or "[]"):
            send(book, client, "complete", job["jid"],
                 "COMPLETE", job["jid"], name, queue, job["data"])


def load(path, seconds):
    book, end = Book(path), time.time() + float(seconds)
    connect().execute_command("CONFIG.SET", "jobs-history-count", 100000000)
    workers = [threading.Thread(target=work, args=(book, i, end)) for i in range(WORKERS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print(", ".join(f"{count} {what}" for what, count in book.counts.items()))


def read_book(path):
    """When each was first sent and acknowledged: {(what, operation): {jid: time}}"""
    times = {(w, o): {} for w in ("sent", "acknowledged") for o in ("put", "pop", "complete")}
    with open(path) as lines:
        for when, what, operation, jid in map(str.split, lines):
            times[what, operation].setdefault(jid, float(when))
    return times


def check(path, begin=NEVER, end=NEVER):
    times, client = read_book(path), connect()
    put, completed = times["acknowledged", "put"], times["acknowledged", "complete"]
    jids, wrong = list(times["sent", "put"]), 0
    for at in range(0, len(jids), BATCH):
        batch = jids[at : at + BATCH]
        pipeline = client.pipeline(transaction=False)
        for jid in batch:
            pipeline.execute_command("GET", jid)
        for jid, reply in zip(batch, pipeline.execute()):
            state = json.loads(reply)["state"] if reply else "not there"
            for bad, why in (
                (not reply and put.get(jid, NEVER) < float(begin), "is lost"),
                (reply and times["sent", "put"][jid] > float(end), "is from later"),
                (state != "complete" and completed.get(jid, NEVER) < float(begin), "was complete"),
                (state == "complete" and jid not in times["sent", "complete"], "was not done"),
            ):
                if bad:
                    print(jid, state, why)
                    wrong += 1
    for finding in client.execute_command("CONSISTENCYCHECK"):
        print(finding)
        wrong += 1
    print(f"{len(put)} puts and {len(completed)} completions were acknowledged; {wrong} are wrong")
    return wrong > 0


if __name__ == "__main__":
    programs = {("load", 4): load, ("check", 3): check, ("check", 5): check}
    program = programs.get((sys.argv[1] if sys.argv[1:] else "", len(sys.argv)))
    sys.exit(program(*sys.argv[2:]) if program else __doc__)
