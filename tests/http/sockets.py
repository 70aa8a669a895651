"""Requests octet by octet."""

import gevent
from gevent import socket

HEAD = b"POST / HTTP/1.1\r\nHost: x\r\n"
NEXT = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


def talk(server, octets, *, more=b"", pause_s=0.0):
    """Send octets, then perhaps more; return all that comes back."""
    with socket.create_connection(server.address, timeout=10) as peer:
        peer.sendall(octets)
        gevent.sleep(pause_s)
        if more:
            peer.sendall(more)
        found = b""
        try:
            while part := peer.recv(65_536):
                found += part
        except ConnectionError:
            pass
        return found
