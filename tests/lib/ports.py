"""TCP ports that are free, and that no other test of the machine gets; see qlessd_free_port()."""

import random
import socket

# Below the ports that Linux gives to clients.
PORTS = range(15000, 32000)
ATTEMPTS = 1000


def can_listen(port):
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("", port))
            listener.listen(1)
        except OSError:
            return False
    return True


class Reserved:
    """A port that belongs to the caller until close()."""

    def __init__(self):
        for _ in range(ATTEMPTS):
            self.port = random.SystemRandom().choice(PORTS)
            self.mark = socket.socket(socket.AF_UNIX)
            try:
                self.mark.bind(f"\0qlessd-test-port-{self.port}")
            except OSError:
                self.mark.close()
                continue
            if can_listen(self.port):
                return
            self.mark.close()
        raise OSError("no port is free")

    def close(self):
        self.mark.close()
