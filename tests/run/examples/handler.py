#!/usr/bin/python3
"""Greets the people whom jobs name."""
import json
import sys

for line in sys.stdin:
    job = json.loads(line)
    name = json.loads(job["data"]).get("name")
    if name:
        answer = {"status": "complete", "result": f"hello {name}"}
    else:
        answer = {"status": "fail", "group": "bad-data", "message": "there is no name"}
    print(json.dumps(answer), flush=True)
