"""The needs of the examples in qlessd-log(5)."""

from kinds import Output, Shell

EXAMPLES = {
    "DESCRIPTION: Backup": Shell(silent=True),
    "FORMAT: Manifest": Output([
        "redis-cli -p 7537 put me mail j send {} 0", "redis-cli -p 7537 shutdown save",
        "while systemctl is-active qlessd; do sleep 0.01; done",
        "cat /var/lib/qlessd/manifest"]),
}
