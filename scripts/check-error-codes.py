#!/usr/bin/python3
"""usage: check-error-codes.py MANUAL SRC INCLUDE

Compare the codes of errors in the source with the section ERROR CODES of the manual page: every code
is listed there, and every listed code is in the source. A code is the second argument of reply_error()
and reply_errorf(), a word of QLESS_ERRORS, or the first word of a text in capitals.
"""

import pathlib
import re
import sys

ARGUMENT = re.compile(r'\breply_errorf?\(\s*[^;"]*?,\s*"([A-Z]+)"')
WORD = re.compile(r'X\(QLESS_E\w+, -\d+, "([A-Z]+)"\)')
TEXT = re.compile(r'(?<!")"-?([A-Z]{3,}) [^"]')

# First words in capitals of texts that are no errors of their own: commands, options, protocols.
NO_CODES = {
    "ACL", "AUTH", "CLIENT", "CONCURRENCY", "CONFIG", "COUNT", "CURSOR", "DEBUG", "DEL", "DISCARD", "EXCLUSIVE", "EXEC",
    "FAILED", "FAILOVER", "FLUSHALL", "GRACE", "HELLO", "HELP", "LADDR", "LOCK", "MATCH", "MULTI", "NODE", "ORDER",
    "PAUSE", "PID", "POP", "PURGE", "PUT", "QUEUES", "QUIT", "SAMPLES", "SCRIPT", "SECRET", "SET",
    "SHUTDOWN", "SIGHUP", "SLOWLOG", "STATE", "SWAPDB", "TCP", "TIMEOUT", "TLS", "UNFAIL", "URL", "WATCH",
    "WITH",
}


def codes_of_source(directories):
    codes = set()
    for directory in directories:
        for path in pathlib.Path(directory).rglob("*.[ch]"):
            text = path.read_text(encoding="utf-8")
            codes.update(ARGUMENT.findall(text), WORD.findall(text))
            if path.parent.name in ("command", "server"):
                codes.update(set(TEXT.findall(text)) - NO_CODES)
    return codes


def codes_of_manual(path):
    text = pathlib.Path(path).read_text(encoding="utf-8")
    section = re.search(r"^\.Sh ERROR CODES\n(.*?)^\.Sh ", text, re.MULTILINE | re.DOTALL)
    items = re.findall(r"^\.It Li (.*)$", section.group(1), re.MULTILINE)
    return {code for item in items for code in item.split(" , ")}


def main():
    manual, *directories = sys.argv[1:]
    source, listed = codes_of_source(directories), codes_of_manual(manual)
    for code in sorted(source - listed):
        print(f"{manual}: ERROR CODES lacks {code}")
    for code in sorted(listed - source):
        print(f"{manual}: no error has the code {code}")
    return source != listed


if __name__ == "__main__":
    sys.exit(main())
