"""The services qlessd and qlessd@mail, put through all that a service does, under strace."""

import contextlib
import grp
import http.client
import http.server
import os
import pathlib
import pwd
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time

import accesses

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parent.parent / "soak"))
from resp import Peer  # noqa: E402
from server import free_ports  # noqa: E402

WAIT_SECONDS = 60
START_ATTEMPTS = 5
# A user without rights, as that of the service.
NOBODY = 65534
# As a program of Let's Encrypt leaves them: links to the current version.
CERTIFICATE = "etc/letsencrypt/live/drill/fullchain.pem"
KEY = "etc/letsencrypt/live/drill/privkey.pem"
AUTHORITIES = "etc/ssl/certs"
TLS = ssl.create_default_context()
TLS.check_hostname = False
TLS.verify_mode = ssl.CERT_NONE


def knows_localhost():
    try:
        return bool(socket.getaddrinfo("localhost", None))
    except OSError:
        return False


HTTP_HOST = "localhost" if knows_localhost() else "127.0.0.1"


class Failed(Exception):
    """The daemon did not do what the drill expects."""


def wait_until(condition, what):
    end = time.monotonic() + WAIT_SECONDS
    while not condition():
        if time.monotonic() > end:
            raise Failed(f"timed out: {what}")
        time.sleep(0.02)


class Service:
    """An instance of the service. `name` is empty for qlessd, and NAME for qlessd@NAME."""

    def __init__(self, root, name):
        self.root = root
        self.name = name
        self.directory = "qlessd-" + name if name else "qlessd"
        self.config = root / "etc/qlessd" / f"{name or 'qlessd'}.conf"
        self.state = root / "var/lib" / self.directory
        self.run_directory = root / "run" / self.directory
        self.logfile = root / "var/log" / self.directory / "qlessd.log"
        self.trace = root.parent / f"trace-{self.directory}"
        for directory in (self.state, self.run_directory, self.logfile.parent, self.trace):
            directory.mkdir(parents=True)
        self.arguments = ["--supervised", "systemd"]
        if name:
            self.arguments += ["--dir", str(self.state)]
        self.own_config = self.config.parent / "conf.d/10-drill.conf"
        if name:
            self.own_config = self.config.with_name(f"{name}-drill.conf")
        self.process = None
        self.pid = self.port = self.tls_port = self.http_port = 0

    def configure(self, packaged):
        """Write the configuration of the package, which includes a file of the service."""
        text = packaged.replace(" /var/lib/qlessd", f" {self.state}")
        if self.name:
            text = text.replace("include conf.d/*.conf", f"include {self.name}-*.conf")
        self.config.write_text(text)
        self.own_config.parent.mkdir(exist_ok=True)

    def configure_own(self):
        self.port, self.tls_port, self.http_port = free_ports(3)
        user, group = (NOBODY, NOBODY) if os.geteuid() == 0 else (os.getuid(), os.getgid())
        self.own_config.write_text("\n".join([
            "bind 127.0.0.1 -::1",
            f"port {self.port}",
            f"tls-port {self.tls_port}",
            f"tls-cert-file {self.root / CERTIFICATE}",
            f"tls-key-file {self.root / KEY}",
            f"tls-ca-cert-dir {self.root / AUTHORITIES}",
            "tls-auth-clients optional",
            f"http-port {self.http_port}",
            f"http-bind {HTTP_HOST}",
            f"unixsocket {self.run_directory}/qlessd.sock",
            f"pidfile {self.run_directory}/qlessd.pid",
            f"logfile {self.logfile}",
            f"run-as {pwd.getpwuid(user).pw_name}:{grp.getgrgid(group).gr_name}",
        ]) + "\n")

    def start(self):
        for _ in range(START_ATTEMPTS):
            self.configure_own()
            self.launch()
            wait_until(self.has_decided, f"the start of {self.directory}")
            if self.process.poll() is None:  # otherwise another process took a port
                self.pid = int((self.run_directory / "qlessd.pid").read_text())
                return
            if "ddress already in use" not in self.logfile.read_text():
                break
        raise Failed(f"{self.directory} did not start; its output:\n{self.output().read_text()}")

    def launch(self):
        notify = self.root / "run/systemd/notify"
        calls = ",".join("?" + call for call in accesses.CALLS)  # not every kernel has all of them
        command = ["strace", "-ff", "-y", "-qq", "-s", "32", "-e", "signal=none",
                   "-e", f"trace={calls}", "-o", str(self.trace / "trace"),
                   f"{self.root}{accesses.PROGRAM}", str(self.config), *self.arguments]
        if os.geteuid() == 0:
            command[:0] = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        with self.output().open("ab") as output:
            self.process = subprocess.Popen(
                command, cwd=self.state, stdout=output, stderr=output, start_new_session=True,
                env={**os.environ, "NOTIFY_SOCKET": str(notify)})

    def output(self):
        return self.root.parent / f"{self.directory}.output"

    def peer(self, tls=None):
        return Connection(self.tls_port if tls else self.port, tls=tls)

    def has_decided(self):
        """The daemon answers, or it has ended."""
        if self.process.poll() is not None:
            return True
        try:
            self.ping_locally()
            return True
        except OSError:
            return False

    def ping_locally(self):
        """Over the Unix socket, which no other process can have."""
        with socket.socket(socket.AF_UNIX) as local:
            local.connect(str(self.run_directory / "qlessd.sock"))
            local.sendall(b"PING\r\n")
            if local.recv(7) != b"+PONG\r\n":
                raise Failed("no reply over the Unix socket")

    def kill(self, number):
        os.kill(self.pid, number)

    def wait_for_end(self):
        self.process.wait(WAIT_SECONDS)

    def end(self):
        """Leave no process, whatever happened."""
        if self.process and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


class Connection(Peer):
    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def figure(self, name):
        lines = self.call("INFO", "everything").splitlines()
        return dict(line.split(":", 1) for line in lines if ":" in line)[name]

    def rewrite(self):
        before = self.figure("aof_rewrites")
        self.call("BGREWRITEAOF")
        wait_until(lambda: self.figure("aof_rewrites") != before, "a rewrite")


def make_certificates(root):
    archive = root / "etc/letsencrypt/archive/drill"
    authorities = root / AUTHORITIES
    for directory in (archive, authorities, (root / CERTIFICATE).parent):
        directory.mkdir(parents=True)
    subprocess.run([
        "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
        "-nodes", "-days", "30", "-subj", "/CN=localhost", "-keyout", archive / "privkey1.pem",
        "-out", archive / "fullchain1.pem"], check=True, capture_output=True)
    for name in (CERTIFICATE, KEY):
        link = root / name
        link.symlink_to(archive / f"{link.stem}1.pem")
    shutil.copy(archive / "fullchain1.pem", authorities / "drill.pem")
    subprocess.run(["openssl", "rehash", authorities], check=True, capture_output=True)


class Endpoint(http.server.BaseHTTPRequestHandler):
    """Takes the jobs that the service posts."""

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *unused):
        pass


@contextlib.contextmanager
def endpoint(certificate=None, key=None):
    """The port of an endpoint that runs as long as the context. It has TLS if it has a certificate."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        server.socket = context.wrap_socket(server.socket, server_side=True,
                                            do_handshake_on_connect=False)
    server.handle_error = lambda *unused: None  # a client that refuses the certificate
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


def give_away(directory):
    """Let the files belong to the user of the service."""
    for parent, _, files in os.walk(directory):
        for name in ("", *files):
            os.chown(os.path.join(parent, name), NOBODY, NOBODY, follow_symlinks=False)


def work(service):
    """Clients over each kind of socket, and jobs that go through their lives."""
    with service.peer() as peer:
        for number in range(20):
            peer.call("PUT", "producer", "mail", f"j{number}", "Send", "{}", "0")
        peer.call("POP", "mail", "worker", "1")
    service.ping_locally()
    with service.peer(TLS) as peer:
        peer.call("PING")
    page = http.client.HTTPConnection(HTTP_HOST, service.http_port)
    page.request("GET", "/metrics")
    page.getresponse().read()
    page.close()


def push(service):
    """Jobs that are posted to a name, and to a service whose certificate no authority has signed."""
    with service.peer() as peer, endpoint() as plain, \
            endpoint(service.root / CERTIFICATE, service.root / KEY) as secure:
        for name, url in (("plain", f"http://{HTTP_HOST}:{plain}/"),
                          ("secure", f"https://{HTTP_HOST}:{secure}/")):
            peer.call("ENDPOINT.SET", name, "URL", url, "QUEUES", "1", name)
            peer.call("PUT", "producer", name, name, "Send", "{}", "0", "RETRIES", "0")
        wait_until(lambda: '"state":"complete"' in peer.call("GET", "plain"), "a posted job")
        wait_until(lambda: '"state":"failed"' in peer.call("GET", "secure"), "a refused certificate")
        if "certificate" not in peer.call("GET", "secure"):
            raise Failed("the certificate was not refused: " + peer.call("GET", "secure"))
        for name in ("plain", "secure"):
            peer.call("ENDPOINT.DELETE", name)


def live(service):
    """Everything that an operator asks of a running service."""
    with service.peer() as peer:
        peer.call("ACL", "SETUSER", "ann", "on", ">secret", "~*", "+@all")
        peer.call("CONFIG", "SET", "maxclients", "1234")
        peer.call("CONFIG", "REWRITE")
        peer.rewrite()
        peer.call("CONFIG", "SET", "fork-max-memory", "0")  # the next one works from the files
        peer.rewrite()
        for policy in ("always", "no", "everysec"):
            peer.call("CONFIG", "SET", "appendfsync", policy)
            peer.call("PUT", "producer", "mail", policy, "Send", "{}", "0")
        # Rotation of the logfile, and new certificates.
        service.logfile.rename(service.logfile.with_suffix(".log.1"))
        service.kill(signal.SIGHUP)
        wait_until(service.logfile.exists, "a new logfile")
        service.kill(signal.SIGUSR1)
        wait_until(lambda: "process_id" in service.logfile.read_text(), "INFO in the logfile")
        peer.call("FLUSHALL")


def read_everything(manager):
    """Hear the services as the service manager does. They wait if nobody reads."""
    with contextlib.suppress(OSError):  # at the end it is closed
        while True:
            manager.recv(4096)


def run(program, config, top):
    """Install the program and its configuration below a new directory, run the services, and return
    what they did."""
    root = pathlib.Path(top).resolve() / "root"
    for source, target in ((program, root / accesses.PROGRAM[1:]),
                           (config, root / "etc/qlessd/qlessd.conf")):
        target.parent.mkdir(parents=True)
        shutil.copy(source, target)
    services = [Service(root, ""), Service(root, "mail")]
    packaged = services[0].config.read_text()
    for service in services:
        service.configure(packaged)
    make_certificates(root)
    (root / "run/systemd").mkdir()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(root / "run/systemd/notify"))
        threading.Thread(target=read_everything, args=[manager], daemon=True).start()
        root.parent.chmod(0o755)
        if os.geteuid() == 0:
            give_away(root.parent)
        try:
            for service in services:
                full_life(service)
        finally:
            for service in services:
                service.end()
    return [access for service in services
            for access in accesses.read(service.trace, str(root), str(service.state))]


def full_life(service):
    service.start()
    work(service)
    push(service)
    live(service)
    with service.peer() as peer:
        peer.send("SHUTDOWN", "SAVE")
        service.wait_for_end()

    service.start()  # from a snapshot
    work(service)
    service.kill(signal.SIGKILL)
    service.wait_for_end()

    service.start()  # after a kill: the socket and the pidfile are still there
    service.kill(signal.SIGTERM)
    service.wait_for_end()

    service.start()
    service.kill(signal.SIGSEGV)  # it writes a crash report
    service.wait_for_end()
    if "SIGSEGV" not in service.logfile.read_text():
        raise Failed("no crash report")
