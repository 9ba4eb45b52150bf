"""The needs of the examples in qlessd-commands(7)."""

from kinds import Configuration, Inline, NotRun, Output, Typed
from scripts import LOAD, SHA

WORKER = "ACL SETUSER worker on >secret +@all"
ONE_JOB = ["PUT me mail j1 send {} 0"]
RUNNING = ["PUT me in j1 send {} 0", "POP in worker-17 1"]

EXAMPLES = {
    "USERS AND PERMISSIONS": Configuration(),
    "USERS AND PERMISSIONS #2": Configuration(),
    "ROLES": Configuration(),
    "PERMISSIONS PER QUEUE": Configuration(),
    "CONNECTION COMMANDS: AUTH": Typed(before=[WORKER]),
    "CONNECTION COMMANDS: CLIENT ID": Typed(any_number=True),
    "CONNECTION COMMANDS: CLIENT KILL": Typed(
        before=[WORKER], others=[["AUTH worker secret"]] * 3),
    "CONNECTION COMMANDS: CLIENT LIST": Typed(
        first=["CLIENT SETNAME importer", "CLIENT SETINFO LIB-NAME mylib"], any_number=True),
    "CONNECTION COMMANDS: CLIENT UNBLOCK": Typed(others=[["BPOP 0 worker-1 1 mail"]] * 7),
    "CONNECTION COMMANDS: HELLO": Typed(before=[WORKER]),
    "USER COMMANDS: ACL DRYRUN": Typed(before=[
        "ACL SETUSER worker on >secret +@worker", "ACL SETUSER mail on >secret ~mail* +@qless"]),
    "JOBS: COMPLETE": Typed(before=RUNNING),
    "JOBS: FAIL": Typed(before=RUNNING),
    "JOBS: GET": Typed(before=ONE_JOB),
    "JOBS: JOB.META": Typed(before=ONE_JOB),
    "JOBS: JOB.PROGRESS": Typed(before=["PUT me mail j1 send {} 0", "POP mail worker-17 1"]),
    "JOBS: JOB.START": Typed(before=["PUT me mail j1 send {} 0", "POP mail worker-17 1"]),
    "JOBS: JOB.RESULT": Typed(before=ONE_JOB),
    "JOBS: JOB.SEARCH": Typed(before=[
        """PUT me mail j1 send '{"user": {"id": 7}}' 0"""]),
    "JOBS: JOB.WAIT": Typed(before=ONE_JOB),
    "JOBS: JOB.WHY": Typed(before=[
        "LIMIT.SET database CONCURRENCY 1",
        """PUT me nightly import Import {} 0 limits '["database"]'""",
        """PUT me mail report Report {} 0 limits '["database"]'""", "POP nightly worker-1 1"]),
    "LIMITS": NotRun("the form of a call; LIMIT.SET has an example"),
    "LIMITS: LIMIT.LIST": Typed(before=["LIMIT.SET domain:* RATE 1 PER 2"]),
    "QUEUES: BPOP": Typed(before=ONE_JOB),
    "QUEUES: MPOP": Typed(before=ONE_JOB),
    "QUEUES: POP": Typed(before=ONE_JOB),
    "QUEUES: QUEUE.COUNT": Typed(before=ONE_JOB),
    "QUEUES: QUEUE.JOBS": Typed(before=ONE_JOB),
    "RECURRING JOBS: RECUR.NEXT": Typed(any_number=True),
    "SCRIPTS": NotRun("the form of a call; EVALSHA has an example"),
    "SCRIPTS #2": Output(
        [f"redis-cli -p 7537 evalsha {SHA} 0 heartbeat 1 j1 worker-1"], before=[LOAD],
        within=True, any_number=False, instead={"message": "...", "sha1": SHA}),
    "SCRIPTS: EVALSHA": Typed(before=[LOAD]),
    "KEYS: SCAN": Typed(before=[*ONE_JOB, "POP mail worker-1 1", "PUT me mail j2 send {} 0"]),
    "KEYS: HGET": Typed(before=["PUT me mail a send {} 0"]),
    "KEYS: LRANGE": Typed(before=["PUT me mail a send {} 0"]),
    "KEYS: ZCARD": Typed(before=[
        *(f"PUT me mail j{number} send {{}} 0" for number in range(15)), "POP mail worker-1 3"]),
    "KEYS: ZRANGE": Typed(before=[
        "QLESS put 985000000 me mail a send {} 0", "QLESS pop 985000000 mail worker-1 1"]),
    "COMMANDS THAT ARE REFUSED": Typed(before=["PUT me mail a send {} 0"]),
    "PUBLISH AND SUBSCRIBE: PSUBSCRIBE": Typed(after=["redis-cli -p 7537 publish news hello"]),
    "PUBLISH AND SUBSCRIBE: SUBSCRIBE": Typed(after=["true"]),
    "PUBLISH AND SUBSCRIBE: PUBLISH": Typed(others=[["SUBSCRIBE news"], ["PSUBSCRIBE n*"]]),
    "PUBLISH AND SUBSCRIBE: PUBSUB CHANNELS": Typed(others=[["SUBSCRIBE news"]]),
    "PUBLISH AND SUBSCRIBE: PUBSUB NUMPAT": Typed(others=[["PSUBSCRIBE n*"]]),
    "PUBLISH AND SUBSCRIBE: PUBSUB NUMSUB": Typed(others=[["SUBSCRIBE news"]]),
    "TRANSACTIONS: WATCH": Typed(before=["PUT me mail a send {} 0"]),
    "GROUP COMMANDS": NotRun("the test group_sentinel receives such a message"),
    "SERVER COMMANDS: INFO": Typed(any_number=True),
    "SERVER COMMANDS: HELP": Inline(),
    "SERVER COMMANDS: TIME": Typed(any_number=True),
    "SERVER COMMANDS: MONITOR": Typed(after=[
        "redis-cli -p 7537 publish news hello", "redis-cli -p 7537 pubsub channels"]),
    "SERVER COMMANDS: SLOWLOG GET": Typed(
        options=["--enable-debug-command", "yes"],
        first=["CLIENT SETNAME importer", "slowlog reset", "debug sleep 0.15"], any_number=True),
}
