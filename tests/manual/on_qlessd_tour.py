"""The needs of the examples in qlessd-tour(7)."""

from kinds import NotRun, Output, Shell

TYPED = NotRun("the test manual_tour types the whole tour on one server")
EXAMPLES = {
    "DESCRIPTION: Put jobs into a queue": TYPED,
    "DESCRIPTION: Put jobs into a queue #2": TYPED,
    "DESCRIPTION: Pop and work": TYPED,
    "DESCRIPTION: Pop and work #2": Output([
        """redis-cli -p 7537 put web mail j1 Send '{"to": "ann@example.org"}' 0""",
        """redis-cli -p 7537 put web mail j3 Send {} 0 depends '["j1"]'""",
        "redis-cli -p 7537 pop mail worker-1 1", "redis-cli -p 7537 get j1 | cat"],
        instead={"\n   ": "", "\n ": ""}),
    "DESCRIPTION: Complete and fail": TYPED,
    "DESCRIPTION: Complete and fail #2": TYPED,
    "DESCRIPTION: Retry": TYPED,
    "DESCRIPTION: Find jobs": TYPED,
    "DESCRIPTION: Read statistics": TYPED,
    "DESCRIPTION: Listen to events": TYPED,
    "DESCRIPTION: Operate": Shell(before=[
        "PUT web mail j1 Send {} 0", "PUT web sms j2 Send {} 0", "POP mail worker-1 1"]),
    "DESCRIPTION: Operate #2": Output(
        ["redis-cli -p 7537 shutdown", "while systemctl is-active qlessd; do sleep 0.01; done",
         "journalctl -u qlessd | grep -v -e /metrics -e 'running as root'"]),
}
