"""Ports for brokers that start again in the same place."""

import random
import socket
from pathlib import Path


def free_port() -> int:
    """Return a port that nobody listens on, and that the system gives to no outgoing connection meanwhile."""
    lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        port = random.randrange(lowest // 2, lowest)
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        return port
