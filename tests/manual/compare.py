"""Compares output with the text of a page.

Blanks and the ends of lines do not matter, because pages break long lines. "..." stands for anything.
A time, a jid or another long hexadecimal number, and the address of a client stand for any other.
"""

import re

WILD = [
    (re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z"), "DATE"),
    (re.compile(r"\b1\d{9}(\.\d+)?\b"), "TIME"),
    (re.compile(r"\b[0-9a-f]{16,}\b"), "HEX"),
    (re.compile(r"\b127\.0\.0\.1:\d+"), "ADDRESS"),
]
NUMBER = re.compile(r"\d+(\.\d+)?")
# It adds the time of a reply that took half a second.
REDIS_CLI_SAYS = re.compile(r"^(Reading messages\.\.\..*|\(\d+\.\d\ds\))$\n?", re.MULTILINE)


def simplify(text, any_number):
    text = REDIS_CLI_SAYS.sub("", text)
    for pattern, word in WILD:
        text = pattern.sub(word, text)
    if any_number:
        text = NUMBER.sub("N", text)
    return " ".join(text.split())


def matches(shown, output, any_number=False):
    parts = simplify(shown, any_number).split("...")
    pattern = ".*".join(re.escape(part.strip()) if len(parts) > 1 else re.escape(part)
                        for part in parts)
    return re.fullmatch(pattern, simplify(output, any_number), re.DOTALL) is not None
