"""The accesses of processes that AppArmor decides about, read from the output of strace."""

import dataclasses
import os
import re
import signal
import socket

import rules

# The calls that strace must record. AppArmor decides about all of them.
OPENS = ("open", "openat", "openat2", "creat")
WRITES_TO_NAME = {  # call: the numbers of the arguments that name what it changes
    "unlink": [0], "unlinkat": [1], "mkdir": [0], "mkdirat": [1], "rmdir": [0], "mknod": [0],
    "mknodat": [1], "chmod": [0], "fchmodat": [1], "fchmodat2": [1], "chown": [0], "lchown": [0],
    "fchownat": [1], "truncate": [0], "symlink": [1], "symlinkat": [2], "utimensat": [1],
}
WRITES_TO_FILE = ("ftruncate", "fchmod", "fchown", "fallocate")
RENAMES = {"rename": (0, 1), "renameat": (1, 3), "renameat2": (1, 3)}
LINKS = {"link": (0, 1), "linkat": (1, 3)}
LOCKS = ("flock", "fcntl")
SOCKETS = ("socket", "socketpair", "bind", "connect", "sendto", "sendmsg", "sendmmsg")
SIGNALS = {"kill": 1, "tkill": 1, "tgkill": 2, "rt_sigqueueinfo": 1, "rt_tgsigqueueinfo": 2,
           "pidfd_send_signal": 1}
RUNS = ("execve", "execveat")
MAPS = ("mmap",)
# Calls for which the profile would need rules that this checker does not know.
NEVER = ("bpf", "chroot", "fsopen", "io_uring_setup", "mount", "mq_open", "open_by_handle_at",
         "perf_event_open", "pivot_root", "process_vm_readv", "process_vm_writev", "ptrace",
         "setns", "umount2", "unshare")
CALLS = sorted({*OPENS, *WRITES_TO_NAME, *WRITES_TO_FILE, *RENAMES, *LINKS, *LOCKS, *SOCKETS,
                *SIGNALS, *RUNS, *MAPS, *NEVER})

PROGRAM = "/usr/sbin/qlessd"

# A file that does not exist needs no permission, if the call does not create it.
HARMLESS_FAILURES = ("ENOENT", "ENOTDIR")

LINE = re.compile(r"(\w+)\((.*)\)\s+= (-?\w+)(?:<(.*?)>(?: |$))?(.*)")
UNFINISHED = ("= ?", "<unfinished ...>", "<detached ...>")  # the process ended before the call
FAMILIES = {name: int(getattr(socket, name)) for name in dir(socket) if name.startswith("AF_")}
KINDS = {name: int(getattr(socket, name)) for name in dir(socket) if name.startswith("SOCK_")}


@dataclasses.dataclass(frozen=True)
class Access:
    """One access. One of path, socket, signal and call says to what."""

    line: str
    path: str = ""
    letters: str = ""
    is_owner: bool = False
    socket: tuple = ()
    signal: int = 0
    call: str = ""

    def is_allowed_by(self, profile):
        if self.path:
            return profile.allows_path(self.path, self.letters, self.is_owner)
        if self.socket:
            return profile.allows_socket(*self.socket)
        if self.signal:
            return profile.allows_signal_to_itself(self.signal)
        return False

    def __str__(self):
        if self.path:
            what = f"{self.letters} of {self.path}, {'' if self.is_owner else 'not '}as its owner"
        elif self.socket:
            what = "a socket of family {}, type {}".format(*self.socket)
        elif self.signal:
            what = f"signal {self.signal}"
        else:
            what = self.call
        return f"{what}: {self.line}"


def split_arguments(text):
    """Split at the commas that are outside of strings and brackets."""
    arguments, depth, is_string, begin, i = [], 0, False, 0, 0
    while i < len(text):
        c = text[i]
        if is_string:
            i += c == "\\"
            is_string = c != '"'
        elif c == '"':
            is_string = True
        elif c in "([{<":
            depth += 1
        elif c in ")]}>":
            depth -= 1
        elif c == "," and depth == 0:
            arguments.append(text[begin:i].strip())
            begin = i + 1
        i += 1
    return arguments + [text[begin:].strip()]


def unquote(text):
    return re.search(r'"((?:[^"\\]|\\.)*)"', text).group(1).encode().decode("unicode_escape")


def file_of(descriptor):
    """The path that strace prints for a descriptor, or nothing for one without a file."""
    found = re.search(r"<(/.*?)>", descriptor)
    return found.group(1).removesuffix(" (deleted)") if found else ""


class Reader:
    """Reads the trace of processes whose file system begins at `root`."""

    def __init__(self, root, working_directory):
        self.root = root
        self.working_directory = working_directory

    def real_path(self, name, directory):
        path = os.path.join(directory or self.working_directory, name)
        parent, last = os.path.split(path.rstrip("/"))
        return os.path.join(os.path.realpath(parent), last)

    def access(self, line, path, letters, is_directory=False):
        """An access to a file below `root` is one to the same file of an installed package. The
        user of the service owns what is below /var and /run, and its own directory in /proc."""
        is_owner = False
        if path.startswith(self.root + "/"):
            path = path.removeprefix(self.root)
            is_owner = path.startswith(("/var/", "/run/"))
        elif re.match(r"/proc/\d+/", path):
            is_owner = True
        if is_directory and not path.endswith("/"):
            path += "/"
        return Access(line, path=path, letters=letters, is_owner=is_owner)

    def accesses(self, line, is_start):
        """The accesses of one line of the trace. `is_start`: it is the start of the daemon."""
        found = LINE.match(line)
        if not found:
            if line.startswith("+++") or line.endswith(UNFINISHED):
                return
            raise ValueError(f"cannot read this line of strace: {line}")
        call, text, result, result_path, rest = found.groups()
        if result == "-1" and any(f" {name} " in rest + " " for name in HARMLESS_FAILURES):
            return
        arguments = split_arguments(text)

        def named(number):
            before = arguments[number - 1] if number > 0 else ""
            return self.real_path(unquote(arguments[number]), file_of(before))

        if call in NEVER:
            yield Access(line, call=call)
        elif call in OPENS:
            yield self.opened(line, call, arguments, result_path)
        elif call in WRITES_TO_NAME:
            for number in WRITES_TO_NAME[call]:
                yield self.access(line, named(number), "w",
                                  "mkdir" in call or "rmdir" in call or "AT_REMOVEDIR" in text)
        elif call in WRITES_TO_FILE and file_of(arguments[0]):
            yield self.access(line, file_of(arguments[0]), "w")
        elif call in RENAMES:
            old, new = RENAMES[call]
            yield self.access(line, named(old), "rw")
            yield self.access(line, named(new), "w")
        elif call in LINKS:
            old, new = LINKS[call]
            yield self.access(line, named(old), "r")
            yield self.access(line, named(new), "l")
        elif call == "flock" or (call == "fcntl" and "F_WRLCK" in text):
            if "LOCK_UN" not in text:
                path = file_of(arguments[0])
                letters = "k" if "LOCK_SH" in text else "wk"
                yield self.access(line, path, letters, os.path.isdir(path))
        elif call in SOCKETS:
            yield from self.socket_used(line, call, text, arguments)
        elif call in SIGNALS:
            number = int(getattr(signal, arguments[SIGNALS[call]], 0))
            if number != 0:
                yield Access(line, signal=number)
        elif call in RUNS:
            yield self.access(line, named(0), "mr" if is_start else "x")
        elif call in MAPS and "PROT_EXEC" in arguments[2] and file_of(arguments[4]):
            yield self.access(line, file_of(arguments[4]), "mr")

    def opened(self, line, call, arguments, result_path):
        number = 1 if call in ("openat", "openat2") else 0
        flags = "O_WRONLY|O_CREAT|O_TRUNC" if call == "creat" else arguments[number + 1]
        path = (result_path or "").removesuffix(" (deleted)")
        if not path:
            path = self.real_path(unquote(arguments[number]),
                                  file_of(arguments[0]) if number else "")
        letters = "w" if "O_WRONLY" in flags else "rw" if "O_RDWR" in flags else "r"
        if "O_CREAT" in flags and "w" not in letters:
            letters += "w"
        return self.access(line, path, letters, "O_DIRECTORY" in flags or os.path.isdir(path))

    def socket_used(self, line, call, text, arguments):
        if call in ("socket", "socketpair"):
            kind = KINDS[re.search(r"SOCK_(?!CLOEXEC|NONBLOCK)\w+", arguments[1]).group(0)]
            yield Access(line, socket=(FAMILIES[arguments[0]], kind))
        elif found := re.search(r'sun_path=("[^"]*")', text):
            yield self.access(line, self.real_path(unquote(found.group(1)), ""), "w")


def read(directory, root, working_directory):
    """The accesses in the files of `strace -ff`, one for each thread, without repetitions."""
    reader = Reader(root, working_directory)
    start = f'execve("{root}{PROGRAM}"'
    found = {}
    for name in sorted(os.listdir(directory)):
        with open(os.path.join(directory, name), encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file):
                is_start = number == 0 and line.startswith(start)
                for access in reader.accesses(line.rstrip("\n"), is_start):
                    found.setdefault(dataclasses.replace(access, line=""), access)
    return list(found.values())


def denied(accesses, profile: rules.Profile):
    return [access for access in accesses if not access.is_allowed_by(profile)]
