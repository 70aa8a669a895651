"""A crowd that stands before a socket: no further caller may wait there."""

import socket


def crowd(path):
    """Return a listener at a path, and the callers that wait for it; the last one found no room."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen(1)
    callers = []
    while True:
        callers.append(socket.socket(socket.AF_UNIX))
        callers[-1].setblocking(False)
        try:
            callers[-1].connect(str(path))
        except BlockingIOError:
            return listener, callers
