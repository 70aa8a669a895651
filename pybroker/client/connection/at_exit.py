"""Connections that a program leaves open are closed when it ends: else what it published last would end with it.

Some of that may still be gathered, and a socket that is let go with answers unread takes along what was sent. A process
forked from the program has no part in them.
"""

import atexit
import contextlib
import os
import time
import weakref
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from pybroker.client.errors import ClientError

if TYPE_CHECKING:
    from pybroker.client.connection.connection import Connection

# For all of them together: a broker that hangs does not keep a program with many connections.
WAIT_S = 10.0
LEAST_S: Final = 0.05

_opened: Final["weakref.WeakSet[Connection]"] = weakref.WeakSet()
os.register_at_fork(after_in_child=_opened.clear)


def close_at_exit(connection: "Connection") -> None:
    """See to it that a connection is closed when the interpreter ends, if nobody does before."""
    _opened.add(connection)


@atexit.register
def _close_all() -> None:
    deadline = time.monotonic() + WAIT_S
    for connection in [each for each in _opened if not each.is_closed]:
        left_s = max(LEAST_S, deadline - time.monotonic())
        timeout_s = min(connection.options.close_timeout_s, left_s)
        connection.options = replace(connection.options, close_timeout_s=timeout_s)
        with contextlib.suppress(ClientError, OSError, RuntimeError):
            connection.close()
