"""The needs of the examples in qlessd-import(1)."""

from kinds import Output, Shell

REDIS = ["redis-server --port 6379 --save '' --loglevel warning &", "redis-cli -p 6379 ping"]

EXAMPLES = {
    "EXAMPLES": Shell(silent=True, shell=REDIS),
    "EXAMPLES #2": Shell(silent=True, shell=REDIS),
    "EXAMPLES #3": Output([
        *REDIS, "qlessd-export --from 127.0.0.1:7537 --to 127.0.0.1:6379",
        "mkdir -m 700 /tmp/new", "qlessd-import --from 127.0.0.1:6379 --dir /tmp/new"],
        before=["PUT me mail j1 send {} 0", "PAUSE mail"]),
}
