"""The needs of the examples in qlessd-clients(7)."""

from kinds import NotRun, Output, Sent
from scripts import LOAD, SHA

COMPLETE = ["PUT me mail j1 Send {} 0", "POP mail worker-1 1", "COMPLETE j1 worker-1 mail {}"]

EXAMPLES = {
    "FORMS OF COMMANDS": Sent(),
    "FORMS OF COMMANDS #2": Sent(),
    "FORMS OF COMMANDS #3": Sent(before=[LOAD], instead={"sha1": SHA}),
    "WHEN A COMMAND FAILS": Output(
        ["redis-cli -p 7537 heartbeat j1 worker-1"], before=COMPLETE, within=True),
    "WHEN A COMMAND FAILS #2": Output(
        [f"redis-cli -p 7537 evalsha {SHA} 0 heartbeat 1 j1 worker-1"], before=[*COMPLETE, LOAD],
        within=True, any_number=False, instead={"sha1": SHA}),
    "GROUPS OF SERVERS": NotRun("the test failover_redis_py makes the same calls"),
    "GROUPS OF SERVERS #2": NotRun("the test failover_qless_run makes such a URL"),
    "A WORKER IN JAVASCRIPT": NotRun("the test client_javascript_worker_pasted runs it"),
    "A WORKER IN PYTHON": NotRun("the test client_python_worker runs it"),
    "WORKERS IN FIVE LANGUAGES": NotRun("the test clients_manual compares it with the file"),
}
