"""The needs of the examples in qlessd-check(8)."""

from kinds import Shell

EXAMPLES = {
    "EXAMPLES": Shell(silent=True),
    "EXAMPLES #2": Shell(before=["PUT me mail 5d5f0b8e send {} 0"], silent=True),
}
