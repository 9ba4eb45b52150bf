"""The needs of the examples in qlessd-benchmark(1). They are run with small numbers."""

from kinds import NotRun, Shell

REDIS = ["redis-server --port 6379 --save '' --loglevel warning &",
         "redis-cli -p 6379 ping"]
FEW = {"--workload handoff": "--workload handoff --jobs 1k"}
SHORT = {"--duration 60": "--duration 1", "--backlog 1M": "--backlog 1k"}

EXAMPLES = {
    "EXAMPLES": Shell(silent=True, instead={"--jobs 1M": "--jobs 10k"}),
    "EXAMPLES #2": Shell(silent=True, instead={**SHORT, "20k": "1k"}),
    "EXAMPLES #3": Shell(silent=True, instead={**SHORT, "20k": "1k", "10k": "10"}),
    "EXAMPLES #4": NotRun("the script of qless is not in this repository"),
    "EXAMPLES #5": Shell(silent=True, instead=FEW),
    "EXAMPLES #6": Shell(silent=True, starts=False, shell=REDIS, instead=FEW),
}
