"""The needs of the examples in qlessd(8)."""

from kinds import Configuration, NotRun, Output, Shell

CERTIFICATE = (
    "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 365 "
    "-subj /CN=q.example.org -keyout server.key -out server.crt 2>/dev/null")

EXAMPLES = {
    "SECURITY: The network": Configuration(),
    "TLS": Shell(starts=False, silent=True),
    "TLS #2": Shell(shell=[CERTIFICATE]),
    "TLS #3": Shell(),
    "MEMORY: Overcommit": NotRun("it changes the kernel's settings of the machine"),
    "WATCHING": NotRun("it is configuration of Prometheus, whose promtool the tests do not have"),
    "LOG": Output(["redis-cli -p 7537 auth a b", "journalctl -u qlessd"], within=True),
    "LOG #2": Output(["journalctl -u qlessd"], within=True, options=["--log-format", "logfmt"]),
    "EXAMPLES": Shell(starts=False),
    "EXAMPLES #2": Shell(starts=False),
    "EXAMPLES #3": NotRun("the package of Debian does it, and its test checks the result"),
    "EXAMPLES #4": Shell(options=["--logfile", "/var/log/qlessd/qlessd.log"]),
    "EXAMPLES #5": Shell(silent=True),
}
