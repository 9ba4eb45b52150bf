"""The needs of the examples in qlessd-check(8)."""

from kinds import Shell

JOBS = [f"PUT me mail j{number} send {{}} 0" for number in range(10)]
STOP = "systemctl stop qlessd"

EXAMPLES = {
    "EXAMPLES": Shell(silent=True),
    "EXAMPLES #2": Shell(
        before=JOBS, shell=[STOP, "mv /var/lib/qlessd /var/lib/qlessd.old"], silent=True,
        instead={"--recover-to 1000": "--recover-to 5"}),
    "EXAMPLES #3": Shell(before=JOBS, silent=True),
    "EXAMPLES #4": Shell(before=["PUT me mail 5d5f0b8e send {} 0"], silent=True),
}
