#!/usr/bin/env python3
"""usage: check-prose.py PATH...

Check the prose of files, and of all files below folders. A complaint names the file and its line.
Prose is the comments of C, shell, Python, meson and configuration files, string literals of C and
Python, messages of shell scripts, Markdown, and manual pages in mdoc. Code in backquotes, literal
displays, synopses and folders named `fixtures` are not prose. The rules are:

- A comment begins with its subject: not with Who, Whoever, What or Of.
- The actor has a name: no `who` after for, of, to, by or than.
- A quantity is a number with its unit, or a constant: no `so many`, `so long` or `so much`.
- One thing comes after another: no `behind`.
- A sentence in Markdown or mdoc has at most 30 words.
"""

import io
import os
import re
import sys
import tokenize

MAX_WORDS = 30
COMMENT_START = re.compile(r"\W*(Who|Whoever|What|Of)\b")
PATTERNS = [
    (re.compile(r"\b(?:for|of|to|by|than)\s+who\b", re.IGNORECASE), "name the actor"),
    (re.compile(r"\bso\s+(?:many|long|much)\b", re.IGNORECASE), "give the number"),
    (re.compile(r"\bbehind\b", re.IGNORECASE), 'write "after"'),
]
SENTENCE_END = re.compile(r"[.!?][\"')\]*]*\s+(?=[\"'(\[*`]*[A-Z0-9])")
BACKQUOTED = re.compile(r"``[^`]+``|`[^`]+`")
CODE = "Code"  # the word that stands for a piece of code


class Prose:
    """A piece of text from consecutive lines: a comment, a string, or a paragraph."""

    def __init__(self, kind, lines):
        self.kind = kind  # "comment", "string" or "text"
        self.starts = []  # position in the text, line
        self.text = ""
        for number, line in lines:
            self.starts.append((len(self.text), number))
            self.text += " ".join(line.split()) + "\n"
        # Code keeps its length, so that positions stay those of the lines.
        self.text = BACKQUOTED.sub(self.cover, self.text)

    @staticmethod
    def cover(match):
        return re.sub(r"[^\n]", "X", match[0])

    def line_at(self, position):
        return max((start, number) for start, number in self.starts if start <= position)[1]


def complaints_about(prose):
    """The lines and texts of the complaints."""
    if prose.kind == "comment" and (match := COMMENT_START.match(prose.text)):
        yield prose.line_at(0), f"a comment begins with its subject, not with {match[1]}"
    for pattern, advice in PATTERNS:
        for match in pattern.finditer(prose.text):
            found = " ".join(match[0].split())
            yield prose.line_at(match.start()), f'"{found}": {advice}'
    if prose.kind == "text":
        start = 0
        for end in [match.end() for match in SENTENCE_END.finditer(prose.text)] + [len(prose.text)]:
            sentence = prose.text[start:end]
            words = [word for word in sentence.split() if re.search(r"\w", word)]
            if len(words) > MAX_WORDS:
                begin = " ".join(words[:5])
                yield prose.line_at(start), f'a sentence of {len(words)} words: "{begin} ..."'
            start = end


# ---- C ----

C_TOKEN = re.compile(
    r"/\*(?P<block>.*?)\*/|//(?P<line>[^\n]*)"
    r"|\"(?P<string>(?:[^\"\\\n]|\\.)*)\"|'(?:[^'\\\n]|\\.)+'",
    re.DOTALL,
)


def numbered(text, first):
    return [(first + i, line) for i, line in enumerate(text.split("\n"))]


def prose_of_c(text):
    """Comments, and strings: those that follow each other are one."""
    strings, end_of_string = [], 0
    line, at = 1, 0
    comments, last_comment = [], 0
    for token in C_TOKEN.finditer(text):
        line += text.count("\n", at, token.start())
        at = token.start()
        if token["string"] is not None:
            if strings and text[end_of_string : token.start()].strip():
                yield Prose("string", strings)
                strings = []
            string = re.sub(r"\\.", " ", token["string"])
            strings.append((line, string))
            end_of_string = token.end()
        elif token["block"] is not None:
            lines = numbered(token["block"], line)
            yield Prose("comment", [(n, re.sub(r"^\s*\*+", "", part)) for n, part in lines])
        elif token["line"] is not None:
            if comments and line != last_comment + 1:
                yield Prose("comment", comments)
                comments = []
            comments.append((line, token["line"]))
            last_comment = line
    if strings:
        yield Prose("string", strings)
    if comments:
        yield Prose("comment", comments)


# ---- files whose comments begin with # ----

HASH_COMMENT = re.compile(r"(?:^|\s)#(?!!)(.*)$")
QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'[^']*'")
SHELL_MESSAGE = re.compile(r"^\s*(?:echo|printf|say|die|fail)\s+(.*)$")


def prose_of_comments(lines):
    """The comments of numbered lines. Consecutive lines that are only a comment are one."""
    block = []
    for number, line in lines:
        covered = QUOTED.sub(lambda match: "x" * len(match[0]), line)
        match = HASH_COMMENT.search(covered)
        alone = match is not None and not covered[: match.start()].strip()
        if block and not alone:
            yield Prose("comment", block)
            block = []
        if alone and not match[1].strip():  # an empty line of a comment separates paragraphs
            continue
        if match:
            comment = [(number, line[match.start(1) :])]
            if alone:
                block += comment
            else:
                yield Prose("comment", comment)
    if block:
        yield Prose("comment", block)


def prose_of_hash(text):
    yield from prose_of_comments(numbered(text, 1))


def prose_of_shell(text):
    lines = numbered(text, 1)
    yield from prose_of_comments(lines)
    for number, line in lines:
        if match := SHELL_MESSAGE.match(line):
            yield Prose("string", [(number, match[1])])


def prose_of_python(text):
    comments = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and not token.string.startswith("#!"):
            alone = not token.line[: token.start[1]].strip()
            follows = comments and comments[-1][0] == token.start[0] - 1 and alone
            if comments and not follows:
                yield Prose("comment", comments)
                comments = []
            comments.append((token.start[0], token.string[1:]))
        elif token.type == tokenize.STRING and token.string[0] not in "rR":  # not a pattern
            literal = re.sub(r"\\.", " ", token.string)
            is_docstring = token.line.strip().startswith(('"""', "'''"))
            kind = "comment" if is_docstring else "string"
            yield Prose(kind, numbered(literal, token.start[0]))
    if comments:
        yield Prose("comment", comments)


# ---- Markdown ----

FENCE = re.compile(r"^\s*(```|~~~)")
ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")
LINK = re.compile(r"!?\[([^]]*)\](?:\([^)]*\)|\[[^]]*\])")


def prose_of_markdown(text):
    block, is_fenced, is_code, was_blank = [], False, False, True

    def flush():
        nonlocal block
        lines, block = block, []
        if lines:
            yield Prose("text", lines)

    in_item = False
    for number, line in numbered(text, 1):
        if FENCE.match(line):
            yield from flush()
            is_fenced = not is_fenced
            continue
        if is_fenced:
            continue
        if not line.strip():
            yield from flush()
            was_blank = True
            continue
        # An indented line after a blank line is code, unless it continues an item of a list.
        is_code = line.startswith("    ") and (is_code or (was_blank and not in_item))
        was_blank = False
        if is_code:
            continue
        line = LINK.sub(r"\1", line)
        if line.lstrip().startswith("|"):
            yield from flush()
            for cell in re.split(r"(?<!\\)\|", line):
                yield Prose("text", [(number, cell)])
        elif line.startswith("#"):
            yield from flush()
            yield Prose("text", [(number, line.lstrip("#"))])
            in_item = False
        else:
            if match := ITEM.match(line):
                yield from flush()
                line = line[match.end() :]
                in_item = True
            elif not line.startswith(" ") and not block:
                in_item = False
            block.append((number, line))
    yield from flush()


# ---- mdoc ----

LITERAL = {"Bd", "Ed"}
# Macros whose arguments are prose, those whose arguments are a paragraph of their own, and those that
# end a paragraph and have no prose.
TEXT_MACROS = {"Em", "Sy", "No", "Dq", "Sq", "Pq", "Qq", "Ns"}
ALONE = {"Sh", "Ss", "It", "Nd", "D1"}
SILENT = {"Dd", "Dt", "Os", "Sm", "Bl", "El", "Bd", "Ed", "Dl", "Pp", "Rs", "Re", "br", "sp"}
PUNCTUATION = re.compile(r"^[.,;:!?()\[\]]+$")
MDOC_WORD = re.compile(r'"([^"]*)"|(\S+)')


def words_of_macro(macro, arguments):
    """The words of a line: the prose in it, and one word for each piece of code."""
    words, is_code = [], macro not in TEXT_MACROS
    if is_code:
        words.append(CODE)
    for quoted, plain in MDOC_WORD.findall(arguments):
        word = quoted or plain
        if PUNCTUATION.match(word) and words:
            words[-1] += word
        elif not quoted and re.fullmatch(r"[A-Z][a-z0-9]", word):
            is_code = word not in TEXT_MACROS
            if is_code:
                words.append(CODE)
        elif not is_code:
            words.append(word)
    return " ".join(words)


def prose_of_mdoc(text):
    block, is_literal, section = [], False, ""
    for number, line in numbered(text, 1):
        if line.startswith('.\\"'):
            yield Prose("comment", [(number, line[3:])])
            continue
        macro, arguments = "", ""
        if line.startswith("."):
            macro, _, arguments = line[1:].strip().partition(" ")
        if macro in LITERAL:
            is_literal = macro == "Bd" and re.search(r"-(literal|unfilled)", arguments) is not None
        if (macro in ALONE or macro in SILENT or not line.strip()) and block:
            yield Prose("text", block)
            block = []
        if macro == "Sh":
            section = arguments
        if is_literal or macro in SILENT or section == "SYNOPSIS":
            continue
        if macro in ALONE:
            for cell in re.split(r"\bTa\b", arguments):
                yield Prose("text", [(number, words_of_macro("No", cell))])
        elif macro:
            block.append((number, words_of_macro(macro, arguments)))
        elif line.strip():
            block.append((number, re.sub(r"\\[&e]", "", line)))
    if block:
        yield Prose("text", block)


# ---- files ----

READERS = [
    (re.compile(r"\.(c|h|def)$"), prose_of_c),
    (re.compile(r"\.py$"), prose_of_python),
    (re.compile(r"\.sh$"), prose_of_shell),
    (re.compile(r"(^|/)meson(\.build|_options\.txt)$|\.conf$"), prose_of_hash),
    (re.compile(r"\.md$"), prose_of_markdown),
    (re.compile(r"\.[1-8]$"), prose_of_mdoc),
]
SKIPPED_FOLDERS = re.compile(r"^(fixtures|node_modules|build.*|\.git)$")


def reader_of(path):
    for pattern, reader in READERS:
        if pattern.search(path):
            return reader
    if "." not in os.path.basename(path):
        with open(path, "rb") as file:
            first = file.readline(80)
        if re.match(rb"#!.*\b(ba)?sh\b", first):
            return prose_of_shell
        if re.match(rb"#!.*\bpython", first):
            return prose_of_python
    return None


def files_of(path):
    if os.path.isfile(path):
        yield path
        return
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if not SKIPPED_FOLDERS.match(name))
        for name in sorted(names):
            yield os.path.normpath(os.path.join(folder, name))


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    found = 0
    for path in sys.argv[1:]:
        for file in files_of(path):
            reader = reader_of(file)
            if reader is None:
                continue
            with open(file, encoding="utf-8") as text:
                content = text.read()
            complaints = {
                complaint for prose in reader(content) for complaint in complaints_about(prose)
            }
            for line, complaint in sorted(complaints):
                print(f"{file}:{line}: {complaint}")
            found += len(complaints)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
