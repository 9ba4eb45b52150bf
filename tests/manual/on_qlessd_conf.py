"""The needs of the examples in qlessd.conf(5)."""

from kinds import Configuration

EXAMPLES = {
    "DIRECTIVES: Access": Configuration(),
    "EXAMPLES": Configuration(instead={"10.0.0.5": "127.0.0.2"}),
}
