"""The daemon, with a directory of its own and free ports."""

import os
import socket
import ssl
import subprocess
import time

from resp import Peer, ServerError

START_SECONDS = 60
START_ATTEMPTS = 5
END_SECONDS = 60
CHECK_SECONDS = 300
MIB = 1 << 20
SEGMENT_BYTES = 2 * MIB
REWRITE_MIN_BYTES = 6 * MIB
LAG_BYTES = 64 * MIB  # how far the rewriter may lag, in bytes of the log


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Server:
    """The daemon with a directory of its own."""

    def __init__(self, build, directory):
        self.program = build / "src" / "qlessd"
        self.checker = build / "src" / "qlessd-check"
        self.directory = directory
        self.log = directory.parent / "qlessd.log"
        self.certificate = directory.parent / "tls.crt"
        self.key = directory.parent / "tls.key"
        self.tls = ssl.create_default_context()
        self.tls.check_hostname = False
        self.tls.verify_mode = ssl.CERT_NONE
        self.process = None
        self.port = None
        self.http_port = None
        self.tls_port = None
        self.fsync = None

    def start(self, fsync):
        """The first connection to a new process."""
        self.fsync = fsync
        for _ in range(START_ATTEMPTS):
            self.launch()
            peer = self.wait_until_ready()
            if peer:
                return peer
            if b"ddress already in use" not in self.log.read_bytes()[-1000:]:
                break  # no other process took the ports
        raise RuntimeError(f"qlessd ended at its start with {self.process.returncode}")

    def connect(self, is_encrypted):
        return Peer(self.tls_port, tls=self.tls) if is_encrypted else Peer(self.port)

    def make_certificate(self):
        subprocess.run([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
            "-nodes", "-days", "30", "-subj", "/CN=localhost", "-keyout", str(self.key),
            "-out", str(self.certificate),
        ], check=True, capture_output=True)

    def launch(self):
        self.port, self.http_port, self.tls_port = free_ports(3)
        self.process = subprocess.Popen([
            self.program, "--port", str(self.port), "--bind", "127.0.0.1",
            "--http-port", str(self.http_port), "--dir", str(self.directory),
            "--logfile", str(self.log), "--log-format", "logfmt", "--appendfsync", self.fsync,
            "--log-segment-size", str(SEGMENT_BYTES),
            "--auto-rewrite-min-size", str(REWRITE_MIN_BYTES),
            "--tls-port", str(self.tls_port), "--tls-auth-clients", "no",
            "--tls-cert-file", str(self.certificate), "--tls-key-file", str(self.key),
            # Avoids warnings on a machine that is busy or has few descriptors.
            "--maxclients", "500", "--clock-skew-warning", "0",
            "--client-output-buffer-limit", "normal", "4mb", "1mb", "5",
            "--client-output-buffer-limit", "pubsub", "1mb", "256kb", "5",
        ], stdin=subprocess.DEVNULL)

    def wait_until_ready(self):
        """A connection to the process after it loaded its state, or None if it ended."""
        deadline = time.monotonic() + START_SECONDS
        while self.process.poll() is None:
            if time.monotonic() > deadline:
                raise RuntimeError(f"qlessd did not start within {START_SECONDS} seconds")
            try:
                peer = Peer(self.port, timeout=2)  # another process might listen there
                is_loaded = not isinstance(peer.ask("get", "none"), ServerError)
                if is_loaded and f"process_id:{self.process.pid}\r" in peer.call("info", "server"):
                    peer.close()
                    return Peer(self.port)
                peer.close()
            except (OSError, ServerError):
                pass
            time.sleep(0.01)
        return None

    def end(self, number):
        """The exit status, or None if the process did not end and was killed."""
        self.process.send_signal(number)
        try:
            return self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return None

    def check_directory(self):
        done = subprocess.run([self.checker, str(self.directory)], capture_output=True, text=True,
                              errors="replace", timeout=CHECK_SECONDS, check=False)
        return done.returncode, done.stdout + done.stderr

    def sizes(self):
        """The files of the log and their sizes."""
        sizes = {}
        for entry in os.scandir(self.directory):
            try:
                sizes[entry.name] = entry.stat().st_size
            except FileNotFoundError:
                pass
        return sizes

    def strays(self):
        """Files that are not in the manifest: forgotten ones, or those of a rewrite in progress."""
        manifest = (self.directory / "manifest").read_text(encoding="ascii").split()
        return sorted(set(self.sizes()) - {"lock", "manifest"} - set(manifest))

    def rss_bytes(self):
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def cpu_seconds(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as f:
            fields = f.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")  # user and system

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))
