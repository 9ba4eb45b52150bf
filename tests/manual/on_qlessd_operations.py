"""The needs of the examples in qlessd-operations(7)."""

from kinds import NotRun, Shell

FAILED = ["PUT me mail j1 Send {} 0", "POP mail worker-1 1",
          "FAIL j1 worker-1 smtp 'no answer' {}"]
RUNNING = ["PUT me mail j1 Send {} 0", "POP mail worker-1 1"]
LIMITED = ["LIMIT.SET database CONCURRENCY 1", "LIMIT.HOLD database 60"]
BACKUP = "qlessd-check --copy-to /backup/2026-11-18 /var/lib/qlessd"
SOME_JOBS = [f"PUT me mail j{number} Send {{}} 0" for number in range(10)]
MANY_JOBS = [f"PUT me mail j{number} Send {{}} 0" for number in range(1500)]
DRILL = "python3 /usr/share/doc/qlessd/examples/drill.py load /tmp/book 1"
TORN = "printf XX | dd of=/var/lib/qlessd/log-00000001 bs=1 seek=60000 conv=notrunc"
MOUNTS = NotRun("it mounts a file system; the test journal_crash has a full disk")
FORMULA = NotRun("a formula; the tests memory and server_memory check the figures")

EXAMPLES = {
    "AT THREE IN THE MORNING": Shell(silent=True),
    "AT THREE IN THE MORNING #2": Shell(silent=True),
    "AT THREE IN THE MORNING #3": Shell(silent=True),
    "AT THREE IN THE MORNING #4": Shell(before=FAILED, silent=True),
    "AT THREE IN THE MORNING #5": Shell(before=FAILED, silent=True),
    "AT THREE IN THE MORNING #6": Shell(before=RUNNING, silent=True),
    "AT THREE IN THE MORNING #7": Shell(before=RUNNING, silent=True),
    "AT THREE IN THE MORNING #8": Shell(silent=True),
    "AT THREE IN THE MORNING #9": Shell(silent=True),
    "AT THREE IN THE MORNING #10": Shell(
        shell=["echo 'a warning of today' >>/var/log/journal"], silent=True),
    "WHY DOES NOTHING RUN": Shell(before=RUNNING, silent=True),
    "WHY DOES NOTHING RUN #2": Shell(silent=True),
    "WHY DOES NOTHING RUN #3": Shell(before=LIMITED, silent=True),
    "WHY DOES NOTHING RUN #4": Shell(before=LIMITED, silent=True),
    "WHY DOES NOTHING RUN #5": Shell(before=LIMITED, silent=True),
    "WHY DOES NOTHING RUN #6": Shell(before=LIMITED, silent=True),
    "BACKUP AND RESTORE: Back up": Shell(before=SOME_JOBS, any_number=True),
    "BACKUP AND RESTORE: Restore": Shell(before=SOME_JOBS, shell=[BACKUP]),
    "BACKUP AND RESTORE: Undo a mistake": Shell(
        before=SOME_JOBS, any_number=True, silent=True,
        instead={"--recover-to 1000": "--recover-to 5"}),
    "A DAMAGED LOG": Shell(
        before=MANY_JOBS, shell=["systemctl stop qlessd", TORN], any_number=True),
    "A DAMAGED LOG #2": Shell(
        before=MANY_JOBS, shell=["systemctl stop qlessd", TORN], silent=True, statuses=(0, 1)),
    "A FULL DISK": NotRun("the test journal_crash has a full disk, and this text"),
    "A FULL DISK #2": NotRun("systemd shows it"),
    "UPGRADE": Shell(silent=True),
    "UPGRADE #2": NotRun("it installs a package"),
    "SIZES: Memory": FORMULA,
    "SIZES: Disk": FORMULA,
    "SIZES: Disk #2": FORMULA,
    "SIZES: Disk #3": FORMULA,
    "DRILLS: The full drill": Shell(silent=True),
    "DRILLS: The full drill #2": Shell(silent=True, instead={"book 60": "book 1"}),
    "DRILLS: The full drill #3": Shell(shell=[DRILL], silent=True),
    "DRILLS: The full drill #4": Shell(shell=["mkdir -p /backup"], silent=True),
    "DRILLS: The full drill #5": Shell(
        shell=[DRILL, "cp /tmp/book book", "cp /usr/share/doc/qlessd/examples/drill.py .",
               "begin=$(date +%s)", "end=$((begin + 1))"], silent=True),
    "DRILLS: The full drill #6": Shell(any_number=True, silent=True),
    "DRILLS: Single drills": NotRun("it would end the servers of other tests"),
    "DRILLS: Single drills #2": Shell(before=SOME_JOBS, any_number=True, silent=True),
    "DRILLS: Single drills #3": Shell(before=SOME_JOBS, any_number=True),
    "DRILLS: Single drills #4": Shell(before=MANY_JOBS, any_number=True, silent=True),
    "DRILLS: Single drills #5": Shell(
        before=MANY_JOBS, shell=["systemctl stop qlessd", TORN], any_number=True,
        silent=True, answers="y\n"),
    "DRILLS: Single drills #6": NotRun(
        "it needs a second user; the tests server_service and server_process have the messages"),
    "DRILLS: Single drills #7": MOUNTS,
}
