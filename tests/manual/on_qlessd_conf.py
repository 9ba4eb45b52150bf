"""The needs of the examples in qlessd.conf(5)."""

from kinds import Configuration, NotRun

EXAMPLES = {
    "DIRECTIVES: Access": Configuration(),
    "DIRECTIVES: Groups": NotRun("it takes three machines; the test group_servers begins a group"),
    "EXAMPLES": Configuration(instead={"10.0.0.5": "127.0.0.2"}),
}
