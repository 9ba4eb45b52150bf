"""A network of its own for each node of a group. Links can be cut, lose packets, and delay them.

Each node has a network namespace with one TUN device. A process, the switch, holds the other ends
of the devices and passes packets on, as the links say. The kernel needs no queueing disciplines
for that. Making namespaces needs the rights of root.
"""

import ctypes
import fcntl
import heapq
import json
import os
import random
import selectors
import signal
import socket
import struct
import subprocess
import time

CLONE_NEWNET = 0x40000000
TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000
IFF_UP, IFF_RUNNING = 0x1, 0x40
SIOCSIFFLAGS, SIOCSIFADDR, SIOCSIFNETMASK = 0x8914, 0x8916, 0x891C
PACKET_BYTES = 65536
WAIT_SECONDS = 10


class Link:
    """The way of packets from one node to another."""

    def __init__(self, loss=0.0, delay=0.0, jitter=0.0):
        self.loss, self.delay, self.jitter = loss, delay, jitter


def address(node):
    return f"10.77.0.{node}"


def is_possible():
    """Whether this process may make network namespaces and TUN devices."""
    if os.geteuid() != 0 or not os.path.exists("/dev/net/tun"):
        return False
    try:
        Network(1, 0).close()
    except (OSError, RuntimeError):
        return False
    return True


def enter(pid):
    """Move this thread to the network of a process."""
    libc = ctypes.CDLL(None, use_errno=True)
    fd = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
    try:
        if libc.setns(fd, CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns failed")
    finally:
        os.close(fd)


def set_up(control, name, flags):
    fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sH14x", name, flags))


def socket_address(host):
    return struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton(host))


def open_device(pid, node):
    """The switch's end of the device in the network of a process."""
    enter(pid)
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH14x", b"link", IFF_TUN | IFF_NO_PI))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        set_up(control, b"lo", IFF_UP | IFF_RUNNING)
        for request, host in ((SIOCSIFADDR, address(node)), (SIOCSIFNETMASK, "255.255.255.0")):
            fcntl.ioctl(control, request, struct.pack("16s16s", b"link", socket_address(host)))
        set_up(control, b"link", IFF_UP | IFF_RUNNING)
    return device


class Switch:
    def __init__(self, devices, control, seed):
        self.devices, self.control = devices, control
        self.rng = random.Random(seed)
        self.links = {}
        self.waiting = []  # (due, number, device, packet)
        self.number = 0

    def run(self):
        selector = selectors.DefaultSelector()
        selector.register(self.control, selectors.EVENT_READ, None)
        for node, device in self.devices.items():
            selector.register(device, selectors.EVENT_READ, node)
        while True:
            wait = max(0, self.waiting[0][0] - time.monotonic()) if self.waiting else None
            for key, _events in selector.select(wait):
                if key.data is None:
                    if not self.obey():
                        return
                else:
                    self.take_packets(key.data, key.fd)
            self.deliver()

    def obey(self):
        line = self.control.recv(PACKET_BYTES)
        if not line:
            return False
        self.links = {(src, dst): Link(*rest) for src, dst, *rest in json.loads(line)}
        self.control.send(b"done")
        return True

    def take_packets(self, src, device):
        while True:
            try:
                packet = os.read(device, PACKET_BYTES)
            except BlockingIOError:
                return
            self.take_packet(src, packet)

    def take_packet(self, src, packet):
        if packet[0] >> 4 != 4:
            return
        dst = packet[19]  # the last byte of the destination
        link = self.links.get((src, dst))
        if dst not in self.devices or link and self.rng.random() < link.loss:
            return
        delay = link.delay + self.rng.random() * link.jitter if link else 0
        if delay == 0:
            self.write(self.devices[dst], packet)
            return
        self.number += 1
        heapq.heappush(self.waiting,
                       (time.monotonic() + delay, self.number, self.devices[dst], packet))

    def deliver(self):
        while self.waiting and self.waiting[0][0] <= time.monotonic():
            _due, _number, device, packet = heapq.heappop(self.waiting)
            self.write(device, packet)

    @staticmethod
    def write(device, packet):
        try:
            os.write(device, packet)
        except (BlockingIOError, OSError):
            pass  # a full device drops packets


class Network:
    """Namespaces for the nodes 1 to count, and the switch between them."""

    def __init__(self, count, seed):
        self.holders = []
        self.switch_pid = None
        try:
            for _ in range(count):
                self.holders.append(self.hold())
            self.control, inside = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self.switch_pid = os.fork()
            if self.switch_pid == 0:
                self.control.close()
                self.run_switch(inside, seed)
            inside.close()
            self.control.settimeout(WAIT_SECONDS)
            if self.control.recv(10) != b"ready":
                raise RuntimeError("the switch did not begin")
        except BaseException:
            self.close()
            raise

    @staticmethod
    def hold():
        """A process whose network is that of a node."""
        holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"],
                                  stdin=subprocess.DEVNULL)
        own = os.readlink("/proc/self/ns/net")
        deadline = time.monotonic() + WAIT_SECONDS
        while os.readlink(f"/proc/{holder.pid}/ns/net") == own:
            if holder.poll() is not None or time.monotonic() > deadline:
                holder.kill()
                holder.wait()
                raise RuntimeError("no network namespace can be made")
            time.sleep(0.005)
        return holder

    def run_switch(self, control, seed):
        status = 1
        try:
            devices = {n: open_device(h.pid, n) for n, h in enumerate(self.holders, 1)}
            control.send(b"ready")
            Switch(devices, control, seed).run()
            status = 0
        finally:
            os._exit(status)

    def command(self, node):
        """The words that run a program in the network of a node."""
        return ["nsenter", f"--net=/proc/{self.holders[node - 1].pid}/ns/net"]

    def set_links(self, links):
        """Links by (source, destination). All others are perfect."""
        words = [(src, dst, link.loss, link.delay, link.jitter)
                 for (src, dst), link in links.items()]
        self.control.send(json.dumps(words).encode())
        self.control.recv(10)

    def close(self):
        if self.switch_pid is not None:
            os.kill(self.switch_pid, signal.SIGKILL)
            os.waitpid(self.switch_pid, 0)
            self.switch_pid = None
        for holder in self.holders:
            holder.kill()
            holder.wait()
        self.holders = []
