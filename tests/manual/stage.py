"""A machine for examples: a directory that stands for its root, a daemon, and a shell."""

import itertools
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "lib"))
from ports import Reserved  # noqa: E402

PATIENCE_S = 100
STAND_INS = pathlib.Path(__file__).parent / "stand-ins"
PROGRAMS = pathlib.Path(os.environ["QLESSD"]).parent
EXAMPLES = pathlib.Path(__file__).parent.parent / "clients" / "examples"
REDIS_CLI = shutil.which("redis-cli")
MARK = "=== the next example begins ==="
A_TIME = re.compile(r"\b1\d{9}\b")

# Directories of the machine that examples name.
PLACES = ["/var/lib/qlessd", "/var/log/qlessd", "/var/log", "/etc/qlessd", "/run/qlessd", "/backup", "/tmp"]
PORTS = ["7537", "7538", "7539", "7600", "6379"]


class Stage:
    def __init__(self, *options):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="qlessd-manual-"))
        self.reserved = {port: Reserved() for port in PORTS}
        self.ports = {port: str(own.port) for port, own in self.reserved.items()}
        self.children = []
        self.numbers = itertools.count()
        for place in PLACES:
            (self.root / place[1:]).mkdir(parents=True, exist_ok=True, mode=0o700)
        conf = ["port 7537", "dir /var/lib/qlessd", "http-port 7539",
                "latency-monitor-threshold 20", "appendfsync always"]
        (self.root / "etc/qlessd/qlessd.conf").write_text(
            "".join(self.here(line) + "\n" for line in conf))
        self.environment = {
            **os.environ,
            "PATH": f"{STAND_INS}:{PROGRAMS}:/usr/bin:{os.environ['PATH']}",
            "STAGE": str(self.root), "STAGE_OPTIONS": self.here(" ".join(options)),
            "STAGE_PORT": self.ports["7537"], "QLESSD_PORT": self.ports["7537"],
            "QLESSD_URL": f"redis://127.0.0.1:{self.ports['7537']}",
        }

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for child in self.children:
            child.kill()
            child.wait()
        self.shell("systemctl stop qlessd")
        shutil.rmtree(self.root)
        for reserved in self.reserved.values():
            reserved.close()

    def here(self, text):
        """The text with the directories and ports of this stage."""
        text = text.replace("/usr/share/doc/qlessd/examples", str(EXAMPLES))
        text = re.sub(rf"(?<![\w/])({'|'.join(PLACES)})(?!\w)", rf"{self.root}\1", text)
        return re.sub(rf"\b({'|'.join(PORTS)})\b", lambda port: self.ports[port.group()], text)

    def there(self, text):
        """Output with the directories and ports of the page."""
        text = text.replace(str(self.root), "")
        for port, own in self.ports.items():
            text = re.sub(rf"\b{own}\b", port, text)
        return text

    def start(self):
        self.shell("systemctl start qlessd")

    def shell(self, *commands, answers=""):
        """Runs commands in one shell. Returns the exit status and the output of each."""
        mark = f"\necho \"{MARK}$?\"\n"
        script = "".join(self.here(command) + mark for command in commands)
        script += "kill $(jobs -p) 2>/dev/null; wait"
        with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as typed:
            typed.write(answers)
            typed.seek(0)
            shell = subprocess.Popen(["/bin/bash", "-c", script], cwd=self.root / "tmp",
                                     env=self.environment, stdin=typed,
                                     stdout=output, stderr=subprocess.STDOUT,
                                     start_new_session=True)
            try:
                shell.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                os.killpg(shell.pid, signal.SIGKILL)
                shell.wait()
            output.seek(0)
            parts = re.split(rf"{MARK}(\d+)\n", self.there(output.read()))
            return [(int(status), text) for text, status in zip(parts[::2], parts[1::2])]

    def redis_cli(self):
        """A redis-cli that reads commands, and writes replies into the file `output`."""
        output = self.root / f"redis-cli-{next(self.numbers)}"
        child = subprocess.Popen([REDIS_CLI, "-p", self.ports["7537"], "--no-raw"], text=True,
                                 stdin=subprocess.PIPE, stdout=output.open("w"),
                                 stderr=subprocess.STDOUT, bufsize=1)
        child.output = output
        self.children.append(child)
        return child

    def type_in(self, child, commands):
        for command in commands:
            child.stdin.write(A_TIME.sub(str(int(time.time())), command) + "\n")
        child.stdin.flush()

    def run(self, *commands):
        """Runs commands on a connection of their own, and returns what redis-cli prints."""
        child = self.redis_cli()
        self.type_in(child, commands)
        child.stdin.close()
        child.wait(PATIENCE_S)
        self.children.remove(child)
        return child.output.read_text(encoding="utf-8", errors="replace")

    def send(self, request):
        """Sends bytes, and returns all that comes back until the server closes the connection."""
        with socket.create_connection(("127.0.0.1", self.ports["7537"]), PATIENCE_S) as server:
            server.sendall(request.encode())
            return b"".join(iter(lambda: server.recv(65536), b"")).decode()

    def start_others(self, others):
        """Opens a redis-cli for each list of commands. Returns when each has a reply or is blocked.

        The first connection is the one that watches, so the ids of the others follow it.
        """
        blocked = f"blocked_clients:{len(others)}\r\n"
        with socket.create_connection(("127.0.0.1", self.ports["7537"]), PATIENCE_S) as server:
            for commands in others:
                self.type_in(self.redis_cli(), commands)

            def have_begun():
                server.sendall(b"INFO clients\r\n")
                return blocked in server.recv(65536).decode() or all(
                    child.output.stat().st_size for child in self.children)
            return self.wait_for(have_begun)

    def wait_for(self, is_true):
        """Whether the condition came true in time."""
        until = time.monotonic() + PATIENCE_S
        while not is_true():
            if time.monotonic() > until:
                return False
            time.sleep(0.01)
        return True
