"""A node that is killed after it has voted votes for nobody else in that term.

This program is the two candidates. The node is alone with them. Its election timeout is a minute,
so it does not stand itself.
"""

import ctypes
import ctypes.util
import selectors
import socket
import struct
import time

from nodes import GROUP_ID, Group

HELLO, MESSAGE = 1, 4
VOTE, VOTE_RESULT = 1, 2
TRIAL, GRANTED = 1, 2
HEADER = struct.Struct("<IIBQ")
VERSION = 1
FOR_MESSAGES = 1
ELECTION_MS = 60000
WAIT_SECONDS = 30
# A log that is newer than that of the node, and a term that it has not seen.
LAST_INDEX, LAST_TERM, TERM = 1000, 90, 100


def checksum():
    library = ctypes.CDLL(ctypes.util.find_library("xxhash") or "libxxhash.so.0")
    function = library.XXH3_64bits_withSeed
    function.restype = ctypes.c_uint64
    function.argtypes = (ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64)
    return function


def frame(kind, term, body):
    after = struct.pack("<BQ", kind, term) + body
    number = checksum()(after, len(after), len(body)) & 0xFFFFFFFF
    return struct.pack("<II", len(body), number) + after


def hello(sender, receiver, address):
    place = address.encode()
    return frame(HELLO, 0, b"QLESSNOD" + struct.pack("<II", VERSION, VERSION) +
                 bytes.fromhex(GROUP_ID) + struct.pack("<QQBH", sender, receiver, FOR_MESSAGES,
                                                       len(place)) + place)


def vote(term):
    return frame(MESSAGE, term, struct.pack("<BQQB", VOTE, LAST_INDEX, LAST_TERM, 0))


def take_frames(data):
    """(type, term, body) of each whole frame, and the bytes that are left."""
    frames = []
    while len(data) >= HEADER.size:
        length, _check, kind, term = HEADER.unpack_from(data)
        if len(data) < HEADER.size + length:
            break
        frames.append((kind, term, data[HEADER.size:HEADER.size + length]))
        data = data[HEADER.size + length:]
    return frames, data


class Candidate:
    """A member of the group that this program plays."""

    def __init__(self, node):
        self.number, self.node = node.number, node
        host, _, port = node.address().rpartition(":")
        self.listener = socket.create_server((host, int(port)))
        self.listener.setblocking(False)

    def ask(self, voter):
        """Whether the voter votes for this candidate. None: there is no answer."""
        host, _, port = voter.address().rpartition(":")
        deadline = time.monotonic() + WAIT_SECONDS
        out, streams = None, {}
        selector = selectors.DefaultSelector()
        selector.register(self.listener, selectors.EVENT_READ)
        try:
            while time.monotonic() < deadline:
                if out is None:
                    out = self.connect(host, int(port), voter)
                elif streams:  # the voter can answer
                    out.sendall(vote(TERM))
                for key, _events in selector.select(0.2):
                    if key.fileobj is self.listener:
                        stream = self.listener.accept()[0]
                        selector.register(stream, selectors.EVENT_READ)
                        streams[stream] = b""
                        stream.sendall(hello(self.number, voter.number, self.node.address()))
                        continue
                    answer = self.read(key.fileobj, streams)
                    if answer is not None:
                        return answer
                    if key.fileobj not in streams:
                        selector.unregister(key.fileobj)
                        key.fileobj.close()
        except OSError:
            return None
        finally:
            for stream in list(streams) + ([out] if out else []):
                stream.close()
            selector.close()
        return None

    def connect(self, host, port, voter):
        try:
            out = socket.create_connection((host, port), 1)
        except OSError:
            time.sleep(0.02)  # the node starts
            return None
        out.sendall(hello(self.number, voter.number, self.node.address()))
        return out

    @staticmethod
    def read(stream, streams):
        try:
            data = stream.recv(65536)
        except OSError:
            data = b""
        if not data:
            del streams[stream]
            return None
        frames, streams[stream] = take_frames(streams[stream] + data)
        for kind, term, body in frames:
            if kind == MESSAGE and body[0] == VOTE_RESULT and term == TERM:
                return bool(body[1] & GRANTED)
        return None

    def close(self):
        self.listener.close()


def check(program, directory, found):
    group = Group(program, directory / "votes", 3, election_ms=ELECTION_MS)
    group.directory.mkdir()
    voter, *others = group.nodes
    first, second = (Candidate(node) for node in others)
    try:
        voter.launch(begins=True)
        if first.ask(voter) is not True:
            found("a node does not vote for the first candidate")
        voter.kill()
        voter.launch()
        if second.ask(voter) is not False:
            found("a node that was killed votes for a second candidate in one term")
    finally:
        first.close()
        second.close()
        group.close()
        group.remove()
