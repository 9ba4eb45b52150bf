"""usage: test_confinement.py --program QLESSD --config PACKAGE.CONF --profile PROFILE

Compare what the services do with the AppArmor profile. The kernel need not have AppArmor. The
output is that of the Test Anything Protocol.
"""

import argparse
import re
import sys
import tempfile

sys.dont_write_bytecode = True

from accesses import Reader, denied  # noqa: E402
from drill import Failed, run  # noqa: E402
from rules import Invalid, Profile  # noqa: E402

# Rules that the services need only on other machines, or in other configurations.
ELSEWHERE = {
    "@{PROC}/sys/vm/overcommit_memory r,": "Debian 12 has this rule among those for every program",
    "@{run}/systemd/resolve/*.conf r,": "for systemd-resolved",
    "/etc/gai.conf r,": "if it exists",
    "/etc/host.conf r,": "if it exists",
    "/etc/hosts r,": "if it exists",
    "/etc/resolv.conf r,": "if it exists",
    "@{sys}/kernel/mm/transparent_hugepage/enabled r,": "if the kernel has huge pages",
    "capability net_bind_service,": "for a port below 1024; the drill has no capability",
    "network inet dgram,": "for questions to a name server",
    "network inet6 dgram,": "for questions to a name server",
    "network inet6 stream,": "if the machine has IPv6",
    "network netlink raw,": "if libc looks for addresses of the machine",
}

# Calls that no service should make, as strace shows them. The root is /new.
ROOT = "/new"
FOREIGN = """
bind(3<socket:[1]>, {sa_family=AF_UNIX, sun_path="/tmp/x"}, 110) = 0
chmod("/etc/qlessd/qlessd.conf", 0600) = 0
connect(3<socket:[1]>, {sa_family=AF_UNIX, sun_path="/var/run/docker.sock"}, 110) = 0
execve("/bin/sh", ["sh"], 0x7ffc749c2a30 /* 41 vars */) = 0
fchmodat(AT_FDCWD</new/run>, "/root", 0700) = -1 EPERM (Operation not permitted)
fcntl(4</new/var/log/qlessd/qlessd.log>, F_SETLK, {l_type=F_WRLCK, l_whence=SEEK_SET}) = 0
flock(3</new/etc/qlessd>, LOCK_EX|LOCK_NB) = 0
ftruncate(3</new/etc/qlessd/qlessd.conf>, 0) = 0
link("./log-1", "./log-2") = 0
mkdir("/srv/jobs", 0700) = 0
mmap(NULL, 4096, PROT_READ|PROT_EXEC, MAP_PRIVATE, 3</new/var/lib/qlessd/log-1>, 0) = 0x7f03fd046000
mount("none", "/mnt", "tmpfs", 0, NULL) = 0
open("/etc/shadow", O_RDONLY) = 3</etc/shadow>
openat(AT_FDCWD</new/run>, "/etc/new", O_RDONLY|O_CREAT, 0600) = 3</etc/new>
openat(AT_FDCWD</new/run>, "/etc/hosts", O_WRONLY|O_APPEND) = -1 EACCES (Permission denied)
openat(AT_FDCWD</new/run>, "/root/.ssh", O_RDONLY|O_DIRECTORY) = 3</root/.ssh>
openat(AT_FDCWD</new/run>, "/proc/1/environ", O_RDONLY) = 3</proc/1/environ>
ptrace(PTRACE_ATTACH, 1) = 0
rename("./manifest", "/etc/manifest") = 0
rename("/etc/passwd", "./passwd") = 0
socket(AF_INET, SOCK_RAW, IPPROTO_ICMP) = 3<socket:[1]>
socket(AF_PACKET, SOCK_DGRAM|SOCK_CLOEXEC, 768) = 3<socket:[1]>
symlink("/etc/passwd", "/tmp/x") = 0
unlink("/etc/hosts") = 0
unlinkat(5</usr/share>, "man", AT_REMOVEDIR) = 0
unshare(CLONE_NEWNET) = 0
"""


class Cases:
    """The results, as they are printed."""

    def __init__(self):
        self.count = self.failures = 0

    def note(self, name, passed, text=""):
        self.count += 1
        self.failures += not passed
        print(f"{'ok' if passed else 'not ok'} {self.count} - {name}".replace("#", r"\#"))
        for line in text.splitlines():
            print(f"# {line}")


def own_rules(text):
    """The lines with a rule that is not in an included file."""
    body = text[re.search(r"^profile .*{$", text, re.MULTILINE).end():]
    lines = (line.strip() for line in body.splitlines())
    return [line for line in lines if line.endswith(",") and not line.startswith("#")]


def weaker(rule):
    """The rule without each of its letters, or, if it has just one or none, no rule at all."""
    path, letters = re.fullmatch(r"(.*?)((?<= )[mrwk]{2,})?,", rule).groups()
    if not letters:
        return {f"the rule {rule}": ""}
    return {f"{letter} of the rule {rule}": path + letters.replace(letter, "") + ","
            for letter in letters}


def check_rules(cases, text, done, refused):
    """Without any part of the rules, something that the services do is denied."""
    for rule in own_rules(text):
        for part, rest in weaker(rule).items():
            profile = Profile(text.replace(f"\n  {rule}\n", f"\n  {rest}\n"))
            if len(denied(done, profile)) > len(refused):
                cases.note(f"the services need {part}", True)
            elif rule in ELSEWHERE:
                print(f"# not tested: {rule} {ELSEWHERE[rule]}")
            else:
                cases.note(f"the services need {part}", False, "nothing they did needs it")


def check_foreign(cases, profile):
    reader = Reader(ROOT, ROOT + "/var/lib/qlessd")
    for line in FOREIGN.strip().splitlines():
        found = list(reader.accesses(line, is_start=False))
        cases.note(f"the profile denies {line}", denied(found, profile))


def main():
    parser = argparse.ArgumentParser()
    for name in ("--program", "--config", "--profile"):
        parser.add_argument(name, required=True)
    options = parser.parse_args()
    cases = Cases()
    with open(options.profile, encoding="utf-8") as file:
        text = file.read()
    with tempfile.TemporaryDirectory(prefix="qlessd-confinement-") as top:
        try:
            profile = Profile(text)
            done = run(options.program, options.config, top)
        except (Invalid, Failed) as error:
            sys.exit(str(error))
    refused = denied(done, profile)
    cases.note("the profile allows all that the services do", done and not refused,
               "\n".join(map(str, refused)))
    check_rules(cases, text, done, refused)
    check_foreign(cases, profile)
    print(f"1..{cases.count}")
    return cases.failures != 0


if __name__ == "__main__":
    sys.exit(main())
