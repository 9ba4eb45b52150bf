"""Shared by the benchmarks of whole servers: starting servers, and writing Markdown."""

import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from results import ROOT, origin, output_of

START_SECONDS = 30

NATIVE, EVALSHA, SET, REFERENCE, PING = "native", "evalsha", "set", "reference", "ping"
BEFORE = "before"  # NATIVE, from another build
LISTS, BEANSTALKD = "lists", "beanstalkd"  # of Redis, and another server


def say(text):
    print(text, file=sys.stderr, flush=True)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """A new server of a kind, in a directory that is removed with it."""

    def __init__(self, args, kind, directives=()):
        self.dir = tempfile.mkdtemp(prefix="bench-", dir=args.dir)
        self.port = free_port()
        common = ["--port", str(self.port), "--dir", self.dir, "--appendfsync", "everysec"]
        if kind == BEANSTALKD:
            command = [args.beanstalkd, "-l", "127.0.0.1", "-p", str(self.port)]
        elif kind in (SET, REFERENCE, PING, LISTS):
            command = [args.redis, *common, "--bind", "127.0.0.1", "--appendonly", "yes"]
            command += ["--save", "", "--auto-aof-rewrite-percentage", "0"]
        else:
            program = args.before if kind == BEFORE else args.qlessd
            command = [program, *common, "--auto-rewrite-percentage", "0"]
        self.log = open(os.path.join(self.dir, "output"), "w+b")
        self.process = subprocess.Popen(
            [*args.pin_server, *command, *(word.format(dir=self.dir) for word in directives)],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log
        )

    def __enter__(self):
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until and self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return self
            except OSError:
                time.sleep(0.02)
        self.log.seek(0)
        text = self.log.read().decode(errors="replace")
        self.__exit__()
        sys.exit(f"the server does not start:\n{text}")

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.log.close()
        shutil.rmtree(self.dir)


def client_options(args, kind, options):
    """Options of qlessd-benchmark for qlessd, translated for a contender of a kind."""
    options = list(options)
    if kind == EVALSHA:
        options += ["--dialect", "evalsha"]
    elif kind == REFERENCE:
        options += ["--dialect", "evalsha", "--script", args.script]
    elif kind in (LISTS, BEANSTALKD):
        options += ["--dialect", kind]
    elif kind in (SET, PING):
        options[options.index("--workload") + 1] = kind
        while "--backlog" in options:
            at = options.index("--backlog")
            del options[at : at + 2]
    return options


def quartiles(ratios):
    low, middle, high = statistics.quantiles(ratios, n=4)
    return f"{middle:.2f} ({low:.2f} to {high:.2f})"


def row(cells):
    print("| " + " | ".join(cells) + " |", flush=True)


def head(*titles):
    row(titles)
    row(["---"] + ["---:"] * (len(titles) - 1))


def number(value):
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:,.2f}"


def print_how(args, words):
    """The command, the versions and the machine that the figures come from."""
    words = [*words, *(["--script", "qless.lua"] if args.script else [])]
    words += ["--pin"] if args.pin else []
    versions = [output_of(args.qlessd, "--version").partition("\n")[0]]
    if args.redis:
        versions.append(output_of(args.redis, "--version").split(" sha=")[0])
    if args.beanstalkd:
        versions.append(output_of(args.beanstalkd, "-v"))
    print(origin(words, *versions))


def add_arguments(parser):
    parser.add_argument("--build", default=os.path.join(ROOT, "build"), metavar="DIR",
                        help="directory of the build; build/ unless given, which scripts/run makes")
    parser.add_argument("--redis", default=shutil.which("redis-server"), metavar="FILE",
                        help="the redis-server to compare with; '' for none")
    parser.add_argument("--beanstalkd", default=shutil.which("beanstalkd"), metavar="FILE",
                        help="the beanstalkd to compare waiting workers with; '' for none")
    parser.add_argument("--script", metavar="FILE", help="qless.lua to load into redis-server")
    parser.add_argument("--pin", action="store_true",
                        help="servers run on processor 0, clients on processor 1")
    parser.add_argument("--dir", help="directory for the logs of the servers; the temporary directory unless given")
    parser.add_argument("--results", action="store_true",
                        help="also write the sections of tests/bench/RESULTS.md")
    parser.add_argument("--raw", metavar="FILE", dest="raw_file",
                        help="write every single result to FILE as JSON")


def program_in(build):
    return os.path.join(build, "src", "qlessd")


def check_arguments(parser):
    args = parser.parse_args()
    args.qlessd = program_in(args.build)
    args.benchmark = args.qlessd + "-benchmark"
    args.pin_server = ["taskset", "-c", "0"] if args.pin else []
    args.pin_client = ["taskset", "-c", "1"] if args.pin else []
    args.raw = []
    if args.script and not args.redis:
        parser.error("--script needs a redis-server")
    for file in (args.qlessd, args.benchmark):
        if not os.access(file, os.X_OK):
            parser.error(f"{file} does not exist")
    return args
