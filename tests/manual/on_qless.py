"""The needs of the examples in qless(1)."""

from kinds import NotRun, Shell

EXAMPLES = {
    "EXAMPLES": Shell(),
    "EXAMPLES #2": Shell(before=[
        "PUT me mail j1 Send {} 0", "PUT me mail j2 Send {} 0", "POP mail w 2",
        "FAIL j1 w smtp 'no route'", "FAIL j2 w smtp 'no route'"], answers="y\n"),
    "EXAMPLES #3": NotRun("jq may be missing; tests/cli reads the JSON of every command"),
}
