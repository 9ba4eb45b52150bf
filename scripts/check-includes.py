#!/usr/bin/env python3
"""usage: check-includes.py ROOT [COMPILER ARGUMENT...]

Check the includes of ROOT/src against the table of layers in ROOT/src/meson.build. A complaint
names the file and its line. The rules are:

- A file includes headers of its own layer and of the layers that its row in the table names. A
  program includes headers of the layers that its executable() names.
- A row names no layer that its files do not include.
- A header *_int.h is included in its own folder only.
- Only a layer whose row names an external library includes the headers of that library.
- x.c includes x.h or an internal header of its folder first, and belongs to a layer or a program.

With a compiler, each header is also compiled alone. ROOT/include and ROOT/src are on its path.
"""

import collections
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

LAYER = re.compile(r"\['(\w+)',\s*files\(([^)]*)\),\s*\[([^]]*)\],\s*\[([^]]*)\]\]")
PROGRAM = re.compile(r"executable\('([\w-]+)',\s*'([\w/.]+)',(.*?)\)\n", re.DOTALL)
PROGRAM_LAYER = re.compile(r"layer_deps\['(\w+)'\]")
WORD = re.compile(r"\w+")
STRING = re.compile(r"'([^']+)'")
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)')

# How headers of external libraries begin, and the dependencies in meson that provide them.
LIBRARIES = {
    "event2/http": {"dep_event_extra"},
    "event2/": {"dep_event"},
    "hiredis/": {"dep_hiredis"},
    "jemalloc/": {"dep_jemalloc"},
    "openssl/ssl.h": {"dep_ssl"},
    "openssl/": {"dep_crypto"},
    "pthread.h": {"dep_threads"},
    "raft.h": {"dep_raft"},
    "xxhash.h": {"dep_xxhash"},
    "yyjson.h": {"dep_yyjson"},
}

# The headers that are installed, below include/, and the layers whose contracts they are.
PUBLIC = {"qless.h": "engine", "qless_store.h": "embed"}

Include = collections.namedtuple("Include", "line name is_quoted")


class Unit:
    """A layer or a program: its source files, and the layers and libraries that it may include."""

    def __init__(self, name, sources, layers, libraries):
        self.name = name
        self.sources = sources
        self.layers = layers
        self.libraries = libraries


def read_units(text):
    """The rows of the table, and the programs, of src/meson.build."""
    text = re.sub(r"(?m)#.*$", "", text)
    layers = [
        Unit(name, STRING.findall(sources), STRING.findall(used), set(WORD.findall(libraries)))
        for name, sources, used, libraries in LAYER.findall(text)
    ]
    programs = [
        Unit(name, [source], PROGRAM_LAYER.findall(rest), set(re.findall(r"\bdep_\w+", rest)))
        for name, source, rest in PROGRAM.findall(text)
    ]
    return layers, programs


def read_includes(path):
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if match := INCLUDE.match(line):
                yield Include(number, match[1] or match[2], match[1] is not None)


class Checker:
    def __init__(self, root):
        self.root = root
        self.src = root / "src"
        self.layers, self.programs = read_units((self.src / "meson.build").read_text())
        self.units = {
            source: unit for unit in self.layers + self.programs for source in unit.sources
        }
        self.names = {layer.name: layer for layer in self.layers}
        self.used = collections.defaultdict(set)
        self.complaints = []

    def complain(self, where, text):
        self.complaints.append(f"{where}: {text}")

    def unit_of(self, path):
        """A header without a source file belongs to the layer that is named like its folder."""
        if path in PUBLIC:
            return self.names.get(PUBLIC[path])
        source = re.sub(r"\.h$", ".c", path)
        return self.units.get(source) or self.names.get(path.split("/")[0])

    def check_include(self, path, unit, include):
        where = f"src/{path}:{include.line}"
        name = include.name
        if not include.is_quoted:
            for prefix, libraries in LIBRARIES.items():
                if name.startswith(prefix):
                    if not libraries & unit.libraries:
                        self.complain(where, f"{unit.name} does not name the library of <{name}>")
                    return
            return
        if name == "build_config.h":
            return
        if name not in PUBLIC and not (self.src / name).is_file():
            self.complain(where, f'"{name}" is no path below src')
            return
        if name.endswith("_int.h") and os.path.dirname(name) != os.path.dirname(path):
            self.complain(where, f"{name} is internal to {os.path.dirname(name)}")
        other = self.unit_of(name)
        if other is unit:
            return
        self.used[unit.name].add(other.name)
        if other.name not in unit.layers:
            row = f"its row does not name {other.name}"
            self.complain(where, f"{unit.name} may not include {name}: {row}")

    def check_file(self, path):
        unit = self.unit_of(path)
        if unit is None or (path.endswith(".c") and path not in self.units):
            self.complain(f"src/{path}", "is in no layer and no program")
            return
        includes = list(read_includes(self.src / path))
        for include in includes:
            self.check_include(path, unit, include)
        self.check_own_header(path, includes)

    def check_own_header(self, path, includes):
        """x.c includes x.h first, or an internal header of its folder, which may include x.h."""
        header = re.sub(r"\.c$", ".h", path)
        if header == path or not (self.src / header).is_file():
            return
        first = includes[0].name if includes else ""
        is_internal = first.endswith("_int.h") and os.path.dirname(first) == os.path.dirname(path)
        if first != header and not is_internal:
            line = includes[0].line if includes else 1
            self.complain(f"src/{path}:{line}", f"{header} must be included first")

    def check_rows(self):
        for unit in self.layers:
            for name in unit.layers:
                if name not in self.used[unit.name]:
                    text = f"{unit.name} names {name}, but includes none of its headers"
                    self.complain("src/meson.build", text)

    def check_headers(self, compiler):
        """A header compiles alone if a file that includes nothing else does."""

        paths = [f"-I{self.root}/include", f"-I{self.src}"]

        def compile_header(path):
            name = path.relative_to(self.src).as_posix() if self.src in path.parents else path.name
            command = [*compiler, *paths, "-fsyntax-only", "-x", "c", "-"]
            source = f'#include "{name}"\n'
            done = subprocess.run(command, input=source, capture_output=True, text=True)
            return name, done.returncode, done.stderr

        headers = [*self.src.rglob("*.h"), *(self.root / "include").glob("*.h")]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for name, status, errors in pool.map(compile_header, sorted(headers)):
                if status != 0:
                    self.complain(name, f"does not compile alone\n{errors.rstrip()}")

    def run(self, compiler):
        if not self.layers:
            self.complain("src/meson.build", "has no table of layers")
        for path in sorted(self.src.rglob("*.[ch]")):
            self.check_file(path.relative_to(self.src).as_posix())
        self.check_rows()
        if compiler:
            self.check_headers(compiler)
        return self.complaints


def main():
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    complaints = Checker(pathlib.Path(sys.argv[1])).run(sys.argv[2:])
    for complaint in complaints:
        print(complaint)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
