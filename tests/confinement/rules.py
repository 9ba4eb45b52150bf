"""An AppArmor profile, compiled by apparmor_parser, and asked as the kernel asks it.

The compiled profile has one automaton for paths and one for everything else. The kernel walks them
byte by byte, and the state at the end says what is allowed. The format is that of policy ABI 3.0.
"""

import re
import struct
import subprocess
import tempfile

ABI = "/etc/apparmor.d/abi/3.0"

# Permissions of the owner of a file, in the state at the end of its path. Those of others follow.
EXEC, WRITE, READ, APPEND, LINK, LOCK, MAP_EXEC = (1 << bit for bit in range(7))
LETTERS = {"x": EXEC, "w": WRITE, "r": READ, "a": APPEND, "l": LINK, "k": LOCK, "m": MAP_EXEC}
OTHERS_SHIFT = 14

# The first byte of a walk through the second automaton.
CLASS_SIGNAL = 10
CLASS_NETWORK = 14
MAY_SEND = 2

DFA_MAGIC = 0x1B5E783D
DFA_START = 1
# The tables of an automaton, by their numbers in the file.
ACCEPT, BASE, CHECK, DEFAULT, CLASSES, NEXT = 1, 2, 3, 4, 5, 8
DIFFERENTIAL = 0x80000000  # of an entry of BASE: the state has only what differs from its default
BASE_MASK = 0x00FFFFFF


class Invalid(Exception):
    """apparmor_parser refuses the profile."""


class Automaton:
    def __init__(self, data):
        magic, offset = struct.unpack_from(">II", data)
        if magic != DFA_MAGIC:
            raise ValueError("this is no automaton")
        self.tables = {}
        while offset + 12 <= len(data):
            number, width, _, length = struct.unpack_from(">HHII", data, offset)
            letter = {1: "B", 2: "H", 4: "I"}[width]
            self.tables[number] = struct.unpack_from(f">{length}{letter}", data, offset + 12)
            offset += (12 + length * width + 7) & ~7

    def step(self, state, byte):
        base, check, default = (self.tables[name] for name in (BASE, CHECK, DEFAULT))
        if CLASSES in self.tables:
            byte = self.tables[CLASSES][byte]
        while True:
            position = (base[state] & BASE_MASK) + byte
            if check[position] == state:
                return self.tables[NEXT][position]
            was_differential = base[state] & DIFFERENTIAL
            state = default[state]
            if not was_differential:
                return state

    def allowed(self, word):
        """The bits of the state at the end of a word."""
        state = DFA_START
        for byte in word:
            state = self.step(state, byte)
        return self.tables[ACCEPT][state]


def automata(compiled):
    """Each automaton in a compiled profile: after its name and its length, at a multiple of 8."""
    name = b"\x04\x06\x00aadfa\x00\x06"
    end = 0
    while (found := compiled.find(name, end)) >= 0:
        begin = found + len(name) + 4
        end = begin + struct.unpack_from("<I", compiled, begin - 4)[0]
        yield Automaton(compiled[begin + -begin % 8:end])


class Profile:
    def __init__(self, text):
        """Compile a profile for the kernels of Debian, which know sockets only by their kind."""
        with open(ABI, encoding="ascii") as file:
            features = file.read()
        begin, end = features.index("network {"), features.index("network_v8 {")
        with tempfile.NamedTemporaryFile("w") as kernel, tempfile.NamedTemporaryFile() as output:
            kernel.write(features[:begin] + features[end:])
            kernel.flush()
            run = subprocess.run(
                ["/usr/sbin/apparmor_parser", "--skip-kernel-load", "--skip-cache", "--quiet",
                 "--kernel-features", kernel.name, "--ofile", output.name],
                input=text, capture_output=True, text=True, check=False)
            if run.returncode != 0:
                raise Invalid(run.stderr)
            self.others, self.paths = automata(output.read())
        self.name = re.search(r"^profile (\S+)", text, re.MULTILINE).group(1)

    def allows_path(self, path, letters, is_owner):
        bits = self.paths.allowed(path.encode())
        if not is_owner:
            bits >>= OTHERS_SHIFT
        return all(bits & LETTERS[letter] for letter in letters)

    def allows_socket(self, family, kind):
        return self.others.allowed(struct.pack(">BHH", CLASS_NETWORK, family, kind)) != 0

    def allows_signal_to_itself(self, number):
        bits = self.others.allowed(bytes([CLASS_SIGNAL, number]) + self.name.encode())
        return bits & MAY_SEND != 0
