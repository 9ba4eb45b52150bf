#!/usr/bin/env python3
"""usage: embed-console.py ROOT OUTPUT FILE...

Write the files of the web console to OUTPUT as C, for console/files.h. FILE is below ROOT.

A file loses its comments and the blanks around its tokens, but keeps its lines. It is stored as it
is and compressed by gzip. All files but index.html have a path with a hash of all files. So a browser
may keep them, and gets new ones after an upgrade. index.html names the modules, so that a browser
asks for all of them at once.
"""

import gzip
import hashlib
import os
import re
import sys

# Bytes of all files together, uncompressed.
BYTES_MAX = 150_000

TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
COMMENT_LINES = re.compile(r"^[ \t]*/\*.*?\*/[ \t]*\n", re.MULTILINE | re.DOTALL)
COMMENT_AT_END = re.compile(r"[ \t]+/\* [^'\"`]* \*/$", re.MULTILINE)
LITERAL = re.compile(r"('(?:[^'\\]|\\.)*'|`[^`]*`)")
OPERATOR = re.compile(r" *([=<>?:;,{}()!&|]+) *")


def squeeze_script_line(line):
    """Remove blanks between tokens, unless the line may have a regular expression or part of a
    literal of several lines."""
    parts = LITERAL.split(line)
    code = "".join(parts[::2])
    if "/" in code or "`" in code or "'" in code or '"' in code:
        return line
    return "".join(p if i % 2 else OPERATOR.sub(r"\1", p) for i, p in enumerate(parts))


def squeeze(name, text):
    if name.endswith((".js", ".css")):
        text = COMMENT_LINES.sub("", text)
        text = COMMENT_AT_END.sub("", text)
        text = "\n".join(line.strip() for line in text.split("\n") if line.strip()) + "\n"
    if name.endswith(".js"):
        text = "\n".join(squeeze_script_line(line) for line in text.split("\n"))
    elif name.endswith(".css"):
        text = re.sub(r"\s*([{};,])\s*", r"\1", text)
        text = re.sub(r": +", ":", text)
    return text


def c_array(name, data):
    lines = [",".join(map(str, data[i : i + 24])) for i in range(0, len(data), 24)]
    return "static const unsigned char %s[] = {\n%s\n};\n" % (name, ",\n".join(lines))


def main():
    root, output, *paths = sys.argv[1:]
    files = {}
    for path in paths:
        with open(path, encoding="utf-8") as f:
            files[os.path.relpath(path, root)] = squeeze(path, f.read())
    version = hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest()[:12]
    modules = "".join(
        '<link rel="modulepreload" href="/console/%s/%s">\n' % (version, name)
        for name in sorted(files)
        if name.endswith(".js")
    )
    page = files["index.html"].replace("/console/", "/console/%s/" % version)
    files["index.html"] = page.replace("</head>", modules + "</head>")

    total = sum(len(text.encode()) for text in files.values())
    if total > BYTES_MAX:
        sys.exit("the console has %d bytes, more than %d" % (total, BYTES_MAX))

    arrays, rows = [], []
    for i, name in enumerate(sorted(files)):
        plain = files[name].encode()
        packed = gzip.compress(plain, 9, mtime=0)
        tag = 'W/\\"%s\\"' % hashlib.sha256(plain).hexdigest()[:16]
        path = "/" if name == "index.html" else "/console/%s/%s" % (version, name)
        arrays.append(c_array("plain%d" % i, plain) + c_array("packed%d" % i, packed))
        rows.append(
            '\t{ STR_INIT("%s"), STR_INIT("%s"), STR_INIT("%s"),\n'
            "\t  { (const char *)plain%d, sizeof plain%d },\n"
            "\t  { (const char *)packed%d, sizeof packed%d } },\n"
            % (path, TYPES[os.path.splitext(name)[1]], tag, i, i, i, i)
        )
    with open(output, "w", encoding="ascii") as f:
        f.write('/* Made by scripts/embed-console.py. */\n#include "console/files.h"\n\n')
        f.write("\n".join(arrays))
        f.write("\nconst struct console_file console_files[] = {\n%s};\n" % "".join(rows))
        f.write("const size_t console_file_count = %d;\n" % len(rows))


if __name__ == "__main__":
    main()
